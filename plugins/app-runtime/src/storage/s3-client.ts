import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { runErrors } from '../errors.ts'

export interface S3Options {
  /** Address of the server, without a path. */
  readonly endpoint: string
  readonly region: string
  readonly bucket: string
  readonly accessKey: string
  readonly secretKey: string
  readonly sessionToken?: string
  /** Whether the bucket is the first part of the path, and not of the host name. */
  readonly pathStyle: boolean
}

export interface S3Request {
  readonly method: 'DELETE' | 'GET' | 'HEAD' | 'POST' | 'PUT'
  /** Empty: the bucket. */
  readonly key?: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array<ArrayBuffer>
  /** SHA-256 of the body in hexadecimal digits, if it is known. */
  readonly sha256?: string
}

/** Attempts of a request, of which all but the first follow a lost connection or an overload. */
const ATTEMPTS = 4

/** Delay before the second attempt in milliseconds; it doubles with each. */
const FIRST_DELAY_MS = 100

/** Time in milliseconds until a server must answer. A part of a file takes as long on a slow line. */
const RESPONSE_MS = 120_000

const RETRIED = new Set([429, 500, 502, 503, 504])

const EMPTY_SHA256 = createHash('sha256').digest('hex')

/** Codes of servers that have no space. */
const FULL = /^(?:QuotaExceeded|EntityTooLargeForQuota|XMinioStorageFull|InsufficientCapacity)/

/** Sends signed requests (AWS Signature Version 4) to a bucket. Requests must be safe to repeat. */
export class S3Client {
  readonly #options: S3Options
  /** Derived keys of the signer, by day. */
  readonly #keys = new Map<string, ArrayBuffer>()

  constructor(options: S3Options) {
    this.#options = options
  }

  /**
   * Returns the response, whatever its status is. Throws `RUN_STORAGE` if no server answers, or the bucket cannot be a
   * part of the host name. `what`: what fails then, for the message.
   */
  async send(request: S3Request, what: string): Promise<Response> {
    this.#assertHostName(what)
    for (let attempt = 1; ; attempt += 1) {
      const isLast = attempt === ATTEMPTS
      try {
        const response = await this.#attempt(request)
        if (isLast || !RETRIED.has(response.status)) return response
        await response.body?.cancel()
      } catch (error) {
        if (isLast || isInvalid(error)) throw this.#unreachable(error, what)
      }
      await sleep(FIRST_DELAY_MS * 2 ** (attempt - 1) * (0.5 + Math.random()))
    }
  }

  /** Returns the text of a successful response; throws the failure of another. */
  async text(request: S3Request, what: string): Promise<string> {
    const response = await this.send(request, what)
    if (!response.ok) throw await this.failure(response, what)
    return response.text().catch((error: unknown) => {
      throw this.#unreachable(error, what)
    })
  }

  /** Returns the error of a response. The text of the server is not shown: it may repeat the request. */
  async failure(response: Response, what: string, text?: string): Promise<Error> {
    const { bucket } = this.#options
    const code = tag(text ?? (await response.text().catch(() => '')), 'Code') ?? ''
    const answer = code === '' ? String(response.status) : `${response.status} ${code}`
    if (response.status === 507 || FULL.test(code)) {
      return runErrors.create('RUN_STORAGE_FULL', `${what}: the bucket ${bucket} has no space (${answer})`)
    }
    const [reason, hint] = reasonOf(response.status, code, bucket)
    return runErrors.create('RUN_STORAGE', `${what}: ${reason} (${answer})`, { hint })
  }

  async #attempt({ method, key = '', query = {}, headers = {}, body, sha256 }: S3Request): Promise<Response> {
    const { accessKey, secretKey, sessionToken, region } = this.#options
    const url = this.#url(key)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    const hash = sha256 ?? (body === undefined ? EMPTY_SHA256 : createHash('sha256').update(body).digest('hex'))
    const { AwsV4Signer } = await import('aws4fetch')
    const signed = await new AwsV4Signer({
      method,
      url: url.href,
      headers: { ...headers, 'x-amz-content-sha256': hash },
      accessKeyId: accessKey,
      secretAccessKey: secretKey,
      ...(sessionToken === undefined ? {} : { sessionToken }),
      service: 's3',
      region,
      cache: this.#keys
    }).sign()
    // Not signed: proxies change it. Compressed content would have another length.
    signed.headers.set('accept-encoding', 'identity')
    const control = new AbortController()
    const late = setTimeout(() => control.abort(new Error(`no answer within ${RESPONSE_MS} ms`)), RESPONSE_MS)
    try {
      return await fetch(signed.url, {
        method,
        headers: signed.headers,
        ...(body === undefined ? {} : { body }),
        redirect: 'manual',
        signal: control.signal
      })
    } finally {
      clearTimeout(late)
    }
  }

  #url(key: string): URL {
    const { endpoint, bucket, pathStyle } = this.#options
    const url = new URL(endpoint)
    if (!pathStyle) url.hostname = `${bucket}.${url.hostname}`
    url.pathname = pathStyle ? `/${bucket}/${key}` : `/${key}`
    return url
  }

  /** A URL ignores a host name that is not valid, such as one of a bucket and an IP address. */
  #assertHostName(what: string): void {
    const { endpoint, bucket, pathStyle } = this.#options
    if (pathStyle) return
    const { hostname } = new URL(endpoint)
    if (this.#url('').hostname === `${bucket}.${hostname}`) return
    throw runErrors.create(
      'RUN_STORAGE',
      `${what}: the bucket ${bucket} cannot be a part of the host name ${hostname}`,
      {
        hint: 'set plugins.app-runtime.files.s3.path_style to true'
      }
    )
  }

  #unreachable(error: unknown, what: string): Error {
    if (isInvalid(error)) {
      return runErrors.create('RUN_STORAGE', `${what}: the settings of the bucket make no valid request`, {
        hint: 'look for line breaks and other control characters in the keys in plugins.app-runtime.files.s3'
      })
    }
    const { host } = new URL(this.#options.endpoint)
    const { message, cause } = error as Error
    const { code, message: reason = message } = (cause ?? {}) as NodeJS.ErrnoException
    return runErrors.create('RUN_STORAGE', `${what}: ${host} did not answer: ${code ?? reason}`, {
      hint: 'check plugins.app-runtime.files.s3.endpoint and the network'
    })
  }
}

/** True if a request cannot be sent at all. The message of such an error quotes the request with its token. */
function isInvalid(error: unknown): boolean {
  return error instanceof TypeError && error.cause === undefined
}

function reasonOf(status: number, code: string, bucket: string): [string, string] {
  if (code === 'NoSuchBucket') {
    return [`the bucket ${bucket} does not exist`, 'create it, or correct plugins.app-runtime.files.s3.bucket']
  }
  if (status === 301 || status === 307 || code === 'AuthorizationHeaderMalformed') {
    return [
      `the bucket ${bucket} is at another address or in another region`,
      'correct endpoint and region in plugins.app-runtime.files.s3'
    ]
  }
  if (status === 401 || status === 403) {
    return [
      `the server does not allow the access key to use the bucket ${bucket}`,
      'check access_key and secret_key in plugins.app-runtime.files.s3, the rights of the key, and the clock of this machine'
    ]
  }
  if (status < 500 && status >= 400) {
    return ['the server refused the request', 'check plugins.app-runtime.files.s3, and look at the log of the server']
  }
  return ['the server failed', 'try again, and look at the log of the server']
}

/** Returns the text of the first element of a name. Ids and keys contain no entities. */
export function tag(xml: string, name: string): string | null {
  return new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1] ?? null
}

/** Returns the content of all elements of a name. */
export function elements(xml: string, name: string): string[] {
  return Array.from(xml.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, 'gs')), ([, content = '']) => content)
}
