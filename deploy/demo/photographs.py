"""Real photographs for the demo competition, cut into small tiles, without any download.

The scikit-image and scikit-learn wheels carry a few photographs as files. They are cut into square tiles
at several scales, and every tile remembers which rectangle of which photograph it shows. The three parts
never share a pixel of a photograph, at any scale: a photograph is either wholly in one part, or is cut
once, straight down, into a region for training and a strip for the held-out part.

Ten of the photographs are in colour and ten in grey (stored as three equal channels): the colour ones
alone do not fill the parts without overlapping tiles. Drawings, logos and test patterns are left out, and
so is the second eye of a stereo pair, which shows the same scene again.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from scorer.errors import Unavailable

Box = tuple[int, int, int, int]
Part = Literal["train", "held_out", "private_extra"]

SIZE = 64
LEAST_CONTRAST = 8.0
SCALES = tuple(2.0 ** (-step / 2) for step in range(5))
LARGEST_SHARE = 0.15


@dataclass(frozen=True)
class Tiles:
    images: NDArray[np.uint8]
    sources: tuple[str, ...]
    rectangles: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.sources)


@dataclass(frozen=True)
class Photographs:
    train: Tiles
    held_out: Tiles
    private_extra: Tiles


@dataclass(frozen=True)
class Source:
    package: str
    file: str
    part: Part = "train"
    strip: int = 0


SK='skimage/data'
LE='sklearn/datasets/images'
SOURCES=(
 Source(SK,'astronaut.png',strip=192),
 Source(SK,'chelsea.png','private_extra'),
 Source(SK,'coffee.png','private_extra'),
 Source(SK,'hubble_deep_field.jpg',strip=320),
 Source(SK,'ihc.png',strip=192),
 Source(SK,'motorcycle_left.png',strip=256),
 Source(SK,'retina.jpg',strip=512),
 Source(SK,'rocket.jpg',strip=192),
 Source(LE,'china.jpg',strip=192),
 Source(LE,'flower.jpg',strip=192),
 Source(SK,'brick.png',strip=192),
 Source(SK,'camera.png',strip=192),
 Source(SK,'coins.png','private_extra'),
 Source(SK,'grass.png',strip=192),
 Source(SK,'gravel.png',strip=192),
 Source(SK,'moon.png',strip=192),
 Source(SK,'cell.png'),
 Source(SK,'page.png'),
 Source(SK,'text.png','private_extra'),
 Source(SK,'clock_motion.png'),
)

def cut(photo, box, size=SIZE):
    for scale in SCALES:
        w,h=round((box[2]-box[0])*scale),round((box[3]-box[1])*scale)
        nx,ny=w//size,h//size
        if not nx or not ny: continue
        a=np.asarray(photo.resize((w,h),Image.Resampling.LANCZOS,box=box))
        ox,oy=(w-nx*size)//2,(h-ny*size)//2
        for j in range(ny):
            for i in range(nx):
                l,t=ox+i*size,oy+j*size
                im=a[t:t+size,l:l+size]
                fx,fy=(box[2]-box[0])/w,(box[3]-box[1])/h
                yield im,(box[0]+l*fx,box[1]+t*fy,box[0]+(l+size)*fx,box[1]+(t+size)*fy)

def shipped_photographs(seed=0, sources=SOURCES, share=LARGEST_SHARE):
    rng=np.random.default_rng(seed)
    parts={'train':[], 'held_out':[], 'private_extra':[]}
    for s in sources:
        root=Path(find_spec(s.package.split('/')[0]).submodule_search_locations[0]).parent
        p=Image.open(root/s.package/s.file).convert('RGB')
        w,h=p.size
        name=Path(s.file).stem
        boxes=[(s.part,(0,0,w-s.strip,h))]+([('held_out',(w-s.strip,0,w,h))] if s.strip else [])
        for part,box in boxes:
            for im,r in cut(p,box):
                if im.reshape(-1,3).astype(float).std(0).max()>=LEAST_CONTRAST:
                    parts[part].append((im,name,r))
    out={}
    for part,ts in parts.items():
        names=np.array([t[1] for t in ts]); cnt={n:int((names==n).sum()) for n in names}
        # largest cap with cap <= share*total(cap)
        cap={'train':160,'held_out':60,'private_extra':110}[part]
        keep=[]
        for n in cnt:
            i=np.flatnonzero(names==n); keep+=list(i if len(i)<=cap else rng.choice(i,cap,replace=False))
        keep=rng.permutation(keep)
        out[part]=Tiles(np.stack([ts[i][0] for i in keep]),tuple(ts[i][1] for i in keep),np.array([ts[i][2] for i in keep]))
    return Photographs(**out)
