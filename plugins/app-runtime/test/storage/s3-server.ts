import { createHash, createHmac, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

export const KEYS = { accessKey: 'AKIATESTTESTTEST', secretKey: 'secret/of+the=test-bucket' }

/** How a request goes wrong: an answer with this status, a lost connection, or one lost in the content. */
export type Fault = number | 'lost' | 'lost after the change' | 'half sent' | 'error in a 200'

export interface S3Server {
  readonly endpoint: string
  readonly objects: Map<string, { readonly content: Buffer; storedAt: number }>
  readonly uploads: Map<string, { readonly key: string; readonly parts: Map<number, Buffer>; startedAt: number }>
  /** Method and path of each request with a right signature. */
  readonly requests: string[]
  /** Decides the fault of a request; null: none. */
  fault: (method: string, path: string) => Fault | null
}

/** Keys in one page of a list. */
const PAGE = 3

/**
 * A server of one bucket, in memory, which checks the signature and the hash of each request itself. `domain`: host name of
 * the server, if the bucket is a part of the host name and not of the path.
 */
export async function serveS3(t: Test, bucket = 'files', domain: string | null = null): Promise<S3Server> {
  const server = createServer((request, response) => void answer(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const s3: S3Server = {
    endpoint: `http://${domain ?? '127.0.0.1'}:${(server.address() as AddressInfo).port}`,
    objects: new Map(),
    uploads: new Map(),
    requests: [],
    fault: () => null
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const { method = '', url = '' } = request
    const fault = s3.fault(method, url)
    if (fault === 'lost') {
      return request.socket.destroy()
    }
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    const send = (status: number, text: string | Buffer = '', headers: Record<string, string> = {}): unknown => {
      const content = Buffer.from(text)
      response.writeHead(status, { 'content-length': content.length, ...headers })
      if (fault === 'lost after the change') return request.socket.destroy()
      if (fault !== 'half sent') return response.end(method === 'HEAD' ? '' : content)
      response.write(content.subarray(0, Math.min(1000, content.length / 2)))
      return setImmediate(() => request.socket.destroy())
    }
    const fail = (status: number, code: string): unknown =>
      send(status, `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${KEYS.secretKey}</Message></Error>`)
    if (typeof fault === 'number') return fail(fault, fault === 507 ? 'QuotaExceeded' : 'SlowDown')
    const problem = signatureProblem(request, body)
    if (problem !== null) return fail(403, problem)
    s3.requests.push(`${method} ${url}`)
    const { pathname, searchParams } = new URL(url, s3.endpoint)
    const { port } = server.address() as AddressInfo
    const inHost = domain === null ? null : (request.headers.host ?? '').replace(`.${domain}:${port}`, '')
    const [, inPath = '', ...rest] = decodeURIComponent(pathname).split('/')
    if ((inHost ?? inPath) !== bucket) return fail(404, 'NoSuchBucket')
    const key = (inHost === null ? rest : [inPath, ...rest]).join('/')
    if (key === '') return list(searchParams)
    const uploadId = searchParams.get('uploadId')
    if (searchParams.has('uploads')) {
      const id = randomUUID()
      s3.uploads.set(id, { key, parts: new Map(), startedAt: Date.now() })
      return send(200, `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`)
    }
    if (uploadId !== null) return part(key, uploadId, Number(searchParams.get('partNumber')))
    if (method === 'PUT') {
      s3.objects.set(key, { content: body, storedAt: Date.now() })
      return send(200, '', { etag: etagOf(body) })
    }
    if (method === 'DELETE') {
      s3.objects.delete(key)
      return send(204)
    }
    const found = s3.objects.get(key)
    if (found === undefined) return fail(404, 'NoSuchKey')
    const { content } = found
    const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '')
    if (range === null) return send(200, content, { 'content-length': String(content.length) })
    const [start, end] = [Number(range[1]), Number(range[2])]
    return send(206, content.subarray(start, end + 1), { 'content-range': `bytes ${start}-${end}/${content.length}` })

    function part(key: string, id: string, number: number): unknown {
      const upload = s3.uploads.get(id)
      if (upload === undefined || upload.key !== key) return fail(404, 'NoSuchUpload')
      if (method === 'PUT') {
        upload.parts.set(number, body)
        return send(200, '', { etag: etagOf(body) })
      }
      s3.uploads.delete(id)
      if (method === 'DELETE') return send(204)
      if (fault === 'error in a 200') return send(200, '<Error><Code>InternalError</Code></Error>')
      const listed = [...body.toString().matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>([^<]*)<\/ETag>/g)]
      const parts = listed.map(([, each]) => upload.parts.get(Number(each)) ?? Buffer.alloc(0))
      const isRight = listed.every(([, , etag], at) => etag === etagOf(parts[at] as Buffer).replaceAll('"', '&quot;'))
      if (!isRight || listed.length !== upload.parts.size) return fail(400, 'InvalidPart')
      s3.objects.set(key, { content: Buffer.concat(parts), storedAt: Date.now() })
      return send(200, '<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>')
    }

    function list(query: URLSearchParams): unknown {
      const prefix = query.get('prefix') ?? ''
      const time = (at: number): string => new Date(at).toISOString()
      if (query.has('uploads')) {
        const found = [...s3.uploads].filter(([, { key }]) => key.startsWith(prefix))
        const items = found.map(([id, { key, startedAt }]) => {
          return `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${time(startedAt)}</Initiated></Upload>`
        })
        return send(200, `<ListMultipartUploadsResult>${items.join('')}</ListMultipartUploadsResult>`)
      }
      const after = query.get('continuation-token') ?? ''
      const keys = [...s3.objects.keys()].filter(key => key.startsWith(prefix) && key > after).sort()
      const page = keys.slice(0, PAGE)
      const items = page.map(key => {
        const { storedAt = 0 } = s3.objects.get(key) ?? {}
        return `<Contents><Key>${key}</Key><LastModified>${time(storedAt)}</LastModified></Contents>`
      })
      const isMore = keys.length > PAGE
      const more = isMore ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : ''
      return send(
        200,
        `<ListBucketResult><IsTruncated>${isMore}</IsTruncated>${more}${items.join('\n')}</ListBucketResult>`
      )
    }
  }
  return s3
}

function etagOf(content: Buffer): string {
  return `"${createHash('md5').update(content).digest('hex')}"`
}

/** Checks a request as the specification of Signature Version 4 says. Returns the code of the error, or null. */
function signatureProblem({ method = '', url = '', headers }: IncomingMessage, body: Buffer): string | null {
  const match =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? ''
    )
  if (match === null) return 'AccessDenied'
  const [, id, day = '', region = '', names = '', signature] = match
  if (id !== KEYS.accessKey) return 'InvalidAccessKeyId'
  const date = String(headers['x-amz-date'])
  const hash = String(headers['x-amz-content-sha256'])
  if (!date.startsWith(day) || !names.split(';').includes('host')) return 'AccessDenied'
  if (hash !== createHash('sha256').update(body).digest('hex')) return 'XAmzContentSHA256Mismatch'
  const [path = '', search = ''] = url.split('?')
  const query = search
    .split('&')
    .filter(each => each !== '')
    .map(each => (each.includes('=') ? each : `${each}=`))
    .sort()
    .join('&')
  const values = names.split(';').map(name => `${name}:${String(headers[name]).trim()}\n`)
  const canonical = [method, path, query, values.join(''), names, hash].join('\n')
  const scope = `${day}/${region}/s3/aws4_request`
  const text = ['AWS4-HMAC-SHA256', date, scope, createHash('sha256').update(canonical).digest('hex')].join('\n')
  const mac = (key: string | Buffer, value: string): Buffer => createHmac('sha256', key).update(value).digest()
  const key = [region, 's3', 'aws4_request'].reduce(mac, mac(`AWS4${KEYS.secretKey}`, day))
  return mac(key, text).toString('hex') === signature ? null : 'SignatureDoesNotMatch'
}
