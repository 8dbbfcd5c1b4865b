"""Why a job or a pod waits: the gates on its way, one dominant cause, what would help. It reads what explain finds."""
