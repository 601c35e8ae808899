# The artifact in a container, from the same lock as .venv.
#
#   docker build -t ofan .
#   docker run --rm -v "$PWD/results_container:/ofan/results_smoke" ofan             the small grid
#   docker run --rm -v "$PWD/results_container:/ofan/results" ofan make figures      all of it
#
# The mounted folder must be writable by user 1000, who is not root.
FROM python:3.12-slim

# git: for tests only
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git make \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 1000 --create-home ofan \
    && install --directory --owner=ofan --group=ofan /ofan

USER ofan
WORKDIR /ofan

# The lock first: a change of the code keeps this layer. What make would do, in its order and with its stamps.
COPY --chown=ofan requirements.lock ./
RUN python -m venv .venv \
    && .venv/bin/python -m pip install --no-cache-dir --disable-pip-version-check --require-hashes -r requirements.lock \
    && touch .venv/.locked

COPY --chown=ofan Makefile Snakefile pyproject.toml README.md ARTIFACT.md LICENSE CITATION.cff codemeta.json environment.yml ./
COPY --chown=ofan .ci .ci
COPY --chown=ofan config config
COPY --chown=ofan data data
COPY --chown=ofan notebooks notebooks
COPY --chown=ofan ofancore ofancore
COPY --chown=ofan p4 p4
COPY --chown=ofan profiles profiles
COPY --chown=ofan tests tests
COPY --chown=ofan workflow workflow
RUN make setup && .venv/bin/ofancore warmup && mkdir results results_smoke

CMD ["make", "smoke"]
