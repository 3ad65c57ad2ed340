# The operator as an image: docker build -t aws-operator .
# The digests decide; the tags say what they are. Change both together.
FROM golang:1.26.5-bookworm@sha256:1ecb7edf62a0408027bd5729dfd6b1b8766e578e8df93995b225dfd0944eb651 AS build
WORKDIR /src
COPY go.mod go.sum ./
COPY pkg/operatorkit/go.mod pkg/operatorkit/go.sum pkg/operatorkit/
RUN go mod download
COPY . .
ENV CGO_ENABLED=0
RUN go build -trimpath -ldflags "-s -w" -o /out/aws-operator ./cmd/aws-operator
# What the machines of clusters run, of either architecture: the operator puts it into their buckets.
RUN for arch in amd64 arm64; do \
      GOOS=linux GOARCH=$arch go build -trimpath -ldflags "-s -w" -o /out/nodeup-linux-$arch ./cmd/nodeup || exit 1; \
      GOOS=linux GOARCH=$arch go build -trimpath -ldflags "-s -w" -o /out/etcd-restore-linux-$arch ./cmd/etcd-restore || exit 1; \
    done

FROM gcr.io/distroless/static-debian12:nonroot@sha256:d093aa3e30dbadd3efe1310db061a14da60299baff8450a17fe0ccc514a16639
COPY --from=build /out/ /
ENTRYPOINT ["/aws-operator"]
CMD ["operator"]
