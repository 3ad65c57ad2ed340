# The operator as an image: docker build -t aws-operator .
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ENV CGO_ENABLED=0
RUN go build -trimpath -ldflags "-s -w" -o /out/aws-operator ./cmd/aws-operator
# What the machines of clusters run, of either architecture: the operator puts it into their buckets.
RUN for arch in amd64 arm64; do \
      GOOS=linux GOARCH=$arch go build -trimpath -ldflags "-s -w" -o /out/nodeup-linux-$arch ./cmd/nodeup || exit 1; \
      GOOS=linux GOARCH=$arch go build -trimpath -ldflags "-s -w" -o /out/etcd-restore-linux-$arch ./cmd/etcd-restore || exit 1; \
    done

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /out/ /
ENTRYPOINT ["/aws-operator"]
CMD ["operator"]
