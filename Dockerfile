# hardmax serve as an image: docker build -t hardmax . && docker run -p 8000:8000 -e HARDMAX_TOKEN=secret hardmax
FROM python:3.12-slim
RUN useradd --create-home hardmax
WORKDIR /build
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip install --no-cache-dir ".[web]" && rm -rf /build
USER hardmax
WORKDIR /home/hardmax
RUN hardmax doctor --warm-up
EXPOSE 8000
HEALTHCHECK CMD python -c "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health')"
ENTRYPOINT ["hardmax"]
CMD ["serve", "imdb", "--host", "0.0.0.0", "--port", "8000"]
