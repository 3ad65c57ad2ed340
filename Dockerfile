# The operator as an image: docker build -t aws-operator .
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o /aws-operator ./cmd/aws-operator

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /aws-operator /aws-operator
ENTRYPOINT ["/aws-operator"]
CMD ["operator"]
