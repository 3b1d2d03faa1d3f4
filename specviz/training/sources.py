"""The explicit allow-list: which packages, at which version, under which licence, and how much of each."""

from __future__ import annotations

import platform
from dataclasses import dataclass

# Licence as listed below -> words of which the package's own metadata must contain one.
ALLOWED_LICENCES: dict[str, tuple[str, ...]] = {
    "MIT": ("mit",),
    "BSD": ("bsd",),
    "Apache-2.0": ("apache",),
    "PSF": ("psf", "python software foundation"),
}
REFUSED_WORDS = ("gpl", "gnu ", "mozilla", "proprietary")

MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Source:
    """One package. At most `cap_megabytes` of its text is kept; `repeats` raises its weight per pass."""

    name: str
    version: str
    licence: str
    cap_megabytes: float = 3.0
    repeats: int = 1

    @property
    def cap_bytes(self) -> int:
        return int(self.cap_megabytes * MEGABYTE)


STDLIB = Source("python-stdlib", platform.python_version(), "PSF", cap_megabytes=12.0, repeats=2)

# Small libraries of plain functions and classes are repeated; large ones whose files resemble each
# other (transformers, sympy, pandas) are capped.
WHEELS: tuple[Source, ...] = (
    Source("cherrypy", "18.10.0", "BSD"),
    Source("whoosh", "2.7.4", "BSD"),
    Source("aiohttp", "3.14.5", "Apache-2.0"),
    Source("algorithms", "1.0.1", "MIT", repeats=3),
    Source("anyio", "4.16.0", "MIT"),
    Source("arrow", "1.4.0", "Apache-2.0"),
    Source("astropy", "8.0.2", "BSD", cap_megabytes=4.0),
    Source("attrs", "26.1.0", "MIT"),
    Source("babel", "2.19.0", "BSD"),
    Source("black", "26.10.1", "MIT"),
    Source("boltons", "26.2.0", "BSD", repeats=2),
    Source("bottle", "0.13.4", "MIT"),
    Source("celery", "5.7.0", "BSD", cap_megabytes=1.5),
    Source("click", "8.5.1", "BSD"),
    Source("dask", "2026.8.0", "BSD", cap_megabytes=2.5),
    Source("distributed", "2026.8.0", "BSD", cap_megabytes=2.0),
    Source("django", "5.2.19", "BSD", cap_megabytes=5.0),
    Source("fabric", "3.2.3", "BSD"),
    Source("falcon", "4.4.0", "Apache-2.0"),
    Source("fastapi", "0.165.0", "MIT"),
    Source("flask", "3.1.3", "BSD"),
    Source("fsspec", "2026.9.0", "BSD"),
    Source("funcy", "2.1", "BSD", repeats=2),
    Source("hatchling", "1.33.0", "MIT"),
    Source("httpx", "0.28.1", "BSD"),
    Source("invoke", "3.0.3", "BSD"),
    Source("ipython", "9.18.1", "BSD"),
    Source("jedi", "0.20.1", "MIT"),
    Source("jinja2", "3.1.6", "BSD"),
    Source("joblib", "1.6.0", "BSD"),
    Source("jsonschema", "4.26.0", "MIT"),
    Source("lark", "1.3.1", "MIT"),
    Source("loguru", "0.7.3", "MIT"),
    Source("luigi", "3.8.1", "Apache-2.0"),
    Source("markdown", "3.11.3", "BSD"),
    Source("marshmallow", "4.4.0", "MIT"),
    Source("matplotlib", "3.11.2", "PSF", cap_megabytes=4.0),
    Source("mistune", "3.4.0", "BSD"),
    Source("more-itertools", "11.2.1", "MIT", repeats=2),
    Source("mpmath", "1.4.1", "BSD"),
    Source("mypy", "2.4.1", "MIT", cap_megabytes=2.5),
    Source("networkx", "3.6.1", "BSD", cap_megabytes=4.0, repeats=2),
    Source("nltk", "3.10.4", "Apache-2.0", cap_megabytes=5.0),
    Source("nox", "2026.10.20", "Apache-2.0"),
    Source("numpy", "2.4.6", "BSD", cap_megabytes=4.0),
    Source("pandas", "3.1.1", "BSD", cap_megabytes=4.0),
    Source("parso", "0.8.7", "MIT"),
    Source("pendulum", "3.3.0", "MIT"),
    Source("pip", "26.3", "MIT", cap_megabytes=1.5),
    Source("poetry-core", "2.5.0", "MIT"),
    Source("prompt-toolkit", "3.0.53", "BSD"),
    Source("pydantic", "2.14.4", "MIT"),
    Source("pydash", "8.1.0", "MIT", repeats=2),
    Source("pygments", "2.21.0", "BSD", cap_megabytes=1.0),
    Source("pygorithm", "1.0.4", "MIT", repeats=3),
    Source("pymongo", "4.20.1", "Apache-2.0", cap_megabytes=1.5),
    Source("pyparsing", "3.3.3", "MIT"),
    Source("pytest", "9.2.0", "MIT"),
    Source("redis", "8.1.0", "MIT", cap_megabytes=1.0),
    Source("requests", "2.34.2", "Apache-2.0"),
    Source("rich", "15.0.0", "MIT"),
    Source("sanic", "25.12.1", "MIT"),
    Source("scikit-image", "0.26.0", "BSD"),
    Source("scikit-learn", "1.9.1", "BSD", cap_megabytes=6.0),
    Source("scipy", "1.17.1", "BSD", cap_megabytes=6.0),
    Source("scrapy", "2.19.0", "BSD"),
    Source("setuptools", "84.2.1", "MIT", cap_megabytes=1.5),
    Source("simpy", "4.1.2", "MIT"),
    Source("sortedcontainers", "2.4.0", "Apache-2.0", repeats=2),
    Source("sphinx", "9.0.4", "BSD", cap_megabytes=2.0),
    Source("sqlalchemy", "2.1.9", "MIT", cap_megabytes=4.0),
    Source("starlette", "1.10.0", "BSD"),
    Source("statsmodels", "0.15.0", "BSD", cap_megabytes=4.0),
    Source("sympy", "1.14.0", "BSD", cap_megabytes=7.0),
    Source("textual", "8.2.8", "MIT", cap_megabytes=2.5),
    Source("tinydb", "4.9.0", "MIT"),
    Source("toolz", "1.2.0", "BSD", repeats=2),
    Source("tornado", "6.6.1", "Apache-2.0"),
    Source("tox", "4.67.15", "MIT"),
    Source("traitlets", "5.16.1", "BSD"),
    Source("transformers", "5.24.0", "Apache-2.0", cap_megabytes=4.0),
    Source("trio", "0.35.0", "MIT"),
    Source("twisted", "26.10.0", "MIT", cap_megabytes=4.0),
    Source("typer", "0.29.2", "MIT"),
    Source("urllib3", "2.8.0", "MIT"),
    Source("uvicorn", "0.54.0", "BSD"),
    Source("virtualenv", "21.15.11", "MIT"),
    Source("werkzeug", "3.1.9", "BSD"),
    Source("xarray", "2026.9.0", "Apache-2.0", cap_megabytes=2.5),
)
