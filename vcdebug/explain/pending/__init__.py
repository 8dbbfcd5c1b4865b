"""Why a job or pod is Pending: the gates that it has to pass, one dominant cause, and advice."""
