from vcdebug.api import ReplayedCycle as ReplayedCycle
from vcdebug.api import replay as replay

__version__: str
