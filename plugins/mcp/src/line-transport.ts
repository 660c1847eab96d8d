import type { Readable, Writable } from 'node:stream'
import {
  type JSONRPCMessage,
  parseJSONRPCMessage,
  serializeMessage,
  type Transport
} from '@modelcontextprotocol/server'
import { errorMessage, readStrictJson } from '@svc/plugin-sdk'

/** Maximum message size in bytes; a longer message is skipped with an error response. */
const MAX_LINE_BYTES = 10 * 1024 * 1024

/** Grace period in milliseconds for pending responses after the client closed its end. */
const LAST_RESPONSES_MS = 5_000

/**
 * Transport with one JSON-RPC message per line over two streams. Unlike the SDK's transport, it responds to an invalid
 * line with an error and continues, so that the client does not wait forever.
 */
export class LineTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  /** Resolves when the connection has ended. */
  readonly closed: Promise<void>
  readonly #input: Readable
  readonly #output: Writable
  #pieces: Buffer[] = []
  #size = 0
  #skipping = false
  #closed = false
  #resolveClosed: () => void = () => undefined
  #isGathering = false
  readonly #unanswered = new Set<string | number>()
  #ending: NodeJS.Timeout | undefined

  constructor(input: Readable, output: Writable) {
    this.#input = input
    this.#output = output
    this.closed = new Promise(resolve => {
      this.#resolveClosed = resolve
    })
  }

  async start(): Promise<void> {
    this.#input.on('data', this.#onData).on('error', this.#onInputEnd)
    this.#input.on('end', this.#onInputEnd).on('close', this.#onInputEnd)
    this.#output.on('error', this.#onOutputError)
    if (this.#input.readableEnded || this.#input.destroyed) setImmediate(this.#onInputEnd)
  }

  /** Sends a message. Resolves when it is written to the stream. */
  async send(message: JSONRPCMessage): Promise<void> {
    await this.#write(serializeMessage(message))
    if ('method' in message || message.id === undefined) return
    this.#unanswered.delete(message.id)
    if (this.#ending !== undefined && this.#unanswered.size === 0) await this.close()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#input.off('data', this.#onData).off('error', this.#onInputEnd)
    this.#input.off('end', this.#onInputEnd).off('close', this.#onInputEnd)
    // The error listener of the output stays: a pending write can fail later, which would end the process.
    if (this.#input.listenerCount('data') === 0) this.#input.pause()
    this.#pieces = []
    clearTimeout(this.#ending)
    this.onclose?.()
    this.#resolveClosed()
  }

  readonly #onData = (chunk: Buffer | string): void => {
    let rest = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      this.#append(rest.subarray(0, end))
      rest = rest.subarray(end + 1)
      this.#endLine()
    }
    this.#append(rest)
  }

  /** Closes after the pending responses: a client may pipe in several requests and then close its end. */
  readonly #onInputEnd = (): void => {
    if (this.#closed || this.#ending !== undefined) return
    if (this.#unanswered.size === 0) void this.close()
    else this.#ending = setTimeout(() => void this.close(), LAST_RESPONSES_MS)
  }

  readonly #onOutputError = (error: Error): void => {
    if (this.#closed) return
    this.onerror?.(error)
    void this.close()
  }

  #append(piece: Buffer): void {
    if (this.#skipping || piece.length === 0) return
    this.#size += piece.length
    this.#pieces.push(piece)
    if (this.#size <= MAX_LINE_BYTES) return
    this.#pieces = []
    this.#skipping = true
    this.#refuse(-32_600, `Invalid request: the message is larger than the limit of ${MAX_LINE_BYTES} bytes`)
  }

  #endLine(): void {
    const line = this.#pieces.length === 1 ? (this.#pieces[0] as Buffer) : Buffer.concat(this.#pieces)
    const skipped = this.#skipping
    this.#pieces = []
    this.#size = 0
    this.#skipping = false
    if (!skipped) this.#receive(line)
  }

  #receive(line: Buffer): void {
    let value: unknown
    try {
      if (isBlank(line)) return
      value = readStrictJson(line)
    } catch (error) {
      this.#refuse(-32_700, `Parse error: the line is not strict JSON: ${errorMessage(error)}`)
      return
    }
    let message: JSONRPCMessage
    try {
      message = parseJSONRPCMessage(value)
    } catch {
      this.#refuse(-32_600, 'Invalid request: not a JSON-RPC 2.0 message', idOf(value))
      return
    }
    this.#count(message)
    this.onmessage?.(message)
  }

  /** Tracks requests that need a response, which are all except subscriptions and cancelled requests. */
  #count(message: JSONRPCMessage): void {
    if (!('method' in message)) return
    if ('id' in message) {
      if (message.method !== 'subscriptions/listen') this.#unanswered.add(message.id)
    } else if (message.method === 'notifications/cancelled') {
      this.#unanswered.delete(message.params?.requestId as string | number)
    }
  }

  #refuse(code: number, message: string, id: string | number | null = null): void {
    this.onerror?.(new Error(message))
    this.#write(`${JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } })}\n`).catch(() => undefined)
  }

  /** Batches writes: responses that are ready in the same turn are written together. */
  #gather(): void {
    if (this.#isGathering) return
    this.#isGathering = true
    this.#output.cork()
    process.nextTick(() => {
      this.#isGathering = false
      this.#output.uncork()
    })
  }

  #write(text: string): Promise<void> {
    if (this.#closed) return Promise.reject(new Error('the connection is closed'))
    this.#gather()
    return new Promise((resolve, reject) => {
      this.#output.write(text, error => (error ? reject(error) : resolve()))
    })
  }
}

/** Returns whether a line contains only JSON white space. */
function isBlank(line: Buffer): boolean {
  return line.every(byte => byte === 0x20 || byte === 0x09 || byte === 0x0d)
}

function idOf(value: unknown): string | number | null {
  const id = (value as { id?: unknown } | null)?.id
  return typeof id === 'string' || typeof id === 'number' ? id : null
}
