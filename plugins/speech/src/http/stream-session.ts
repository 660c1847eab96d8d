import type { Transcript } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'
import type { RawData, WebSocket } from 'ws'
import { samplesOf } from '../audio/ffmpeg.ts'
import { languageHint } from '../language-hint.ts'
import type { Transcriber } from '../transcriber.ts'
import type { Tunables } from '../tunables.ts'
import { RATE } from '../whisper/recognition.ts'
import { texts } from './bodies.ts'
import { PartialClock } from './partial-clock.ts'

const BYTES_PER_MS = (RATE * 2) / 1000
const SERVICE_RESTART = 1012
const TOO_BIG = 1009

export interface StreamParts {
  readonly socket: WebSocket
  readonly correlationId: string
  readonly transcriber: Transcriber
  readonly tunables: Tunables
  /** Seconds of audio, at the end of the recording, that a partial text covers. */
  readonly partialSeconds: number
}

/**
 * Recordings over a websocket, one after another. The client sends PCM and receives partial texts while it speaks, and the
 * final text after `commit`.
 */
export class StreamSession {
  readonly #parts: StreamParts
  readonly #clock: PartialClock
  readonly #heartbeat: NodeJS.Timeout
  #chunks: Buffer[] = []
  #bytes = 0
  #language: string | undefined
  #lastActivity = performance.now()
  /** The running partial recognition. */
  #partial: AbortController | null = null
  /** The running final recognition. */
  #final: AbortController | null = null
  /** End of the last final recognition; they run one after another, in commit order. */
  #lastFinal: Promise<void> = Promise.resolve()

  constructor(parts: StreamParts) {
    this.#parts = parts
    const { socket, tunables, correlationId } = parts
    this.#clock = new PartialClock(tunables, () => void this.#sendPartial())
    this.#heartbeat = setInterval(() => this.#beat(), tunables.heartbeat_ms).unref()
    socket.on('message', (data, binary) => this.#receive(data, binary))
    socket.on('pong', () => {
      this.#lastActivity = performance.now()
    })
    socket.on('error', () => socket.terminate())
    socket.on('close', () => this.#end())
    this.#send('ready', { correlation_id: correlationId, sample_rate_hz: RATE, input_format: 'pcm_s16le_mono' })
  }

  /** Disconnects the client with code 1012. It can reconnect to the next version at the same address. */
  leave(): void {
    this.#parts.socket.close(SERVICE_RESTART)
  }

  #receive(data: RawData, binary: boolean): void {
    this.#lastActivity = performance.now()
    const bytes = Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as Buffer)
    if (binary) this.#onAudio(bytes)
    else this.#onCommand(bytes.toString('utf8'))
  }

  #onAudio(bytes: Buffer): void {
    const { socket, tunables } = this.#parts
    const limit = tunables.stream_max_buffer_ms * BYTES_PER_MS
    if (this.#bytes + bytes.length > limit) {
      const message = `more than ${tunables.stream_max_buffer_ms} ms of audio arrived without a commit`
      this.#send('error', { error: 'buffer_overflow', message })
      socket.close(TOO_BIG, 'buffer_overflow')
      this.#forget()
      return
    }
    this.#chunks.push(bytes)
    this.#bytes += bytes.length
    this.#clock.onAudio(this.#bytes / BYTES_PER_MS)
  }

  #onCommand(text: string): void {
    const message = parsed(text)
    switch (message.op) {
      case 'set_language':
        this.#language = languageHint(message.language_hint) ?? undefined
        return
      case 'commit':
        this.#commit()
        return
      case 'cancel':
        this.#final?.abort(new Error('cancelled'))
        this.#forget()
        this.#send('cancelled', {})
        return
      default:
        this.#send('error', {
          error: 'bad_message',
          message: 'the "op" of a text frame must be set_language, commit or cancel'
        })
    }
  }

  #commit(): void {
    const pcm = Buffer.concat(this.#chunks)
    const language = this.#language
    this.#forget()
    const controller = new AbortController()
    this.#final = controller
    this.#lastFinal = this.#lastFinal.then(async () => {
      if (controller.signal.aborted) return
      try {
        this.#send('final', texts(await this.#read(pcm, language, controller.signal)))
      } catch (error) {
        if (!controller.signal.aborted) this.#fail(error)
      }
    })
  }

  async #sendPartial(): Promise<void> {
    if (this.#partial !== null) return
    const controller = new AbortController()
    this.#partial = controller
    const newest = this.#parts.partialSeconds * 1000 * BYTES_PER_MS
    const pcm = Buffer.concat(this.#chunks)
    const start = Math.max(0, pcm.length - newest)
    try {
      const transcript = await this.#read(pcm.subarray(start), this.#language, controller.signal)
      if (!controller.signal.aborted)
        this.#send('partial', { text: transcript.refined, from_ms: Math.round(start / BYTES_PER_MS) })
    } catch (error) {
      // Not reported if aborted: the final text replaces this one.
      if (!controller.signal.aborted) this.#fail(error)
    } finally {
      if (this.#partial === controller) this.#partial = null
    }
  }

  #read(pcm: Buffer, language: string | undefined, signal: AbortSignal): Promise<Transcript> {
    const source = { kind: 'samples', samples: samplesOf(pcm) } as const
    return this.#parts.transcriber.transcribe(source, { signal, ...(language === undefined ? {} : { language }) })
  }

  #fail(error: unknown): void {
    this.#send('error', { error: 'transcribe_failed', message: errorMessage(error) })
  }

  #send(type: string, fields: object): void {
    const { socket, correlationId } = this.#parts
    if (socket.readyState === socket.OPEN)
      socket.send(JSON.stringify({ type, correlation_id: correlationId, ...fields }))
  }

  /** Pings the client, or disconnects it if nothing arrived within `capture_timeout_ms`. */
  #beat(): void {
    const { socket, tunables } = this.#parts
    if (performance.now() - this.#lastActivity > tunables.capture_timeout_ms) socket.terminate()
    else socket.ping()
  }

  #forget(): void {
    this.#partial?.abort(new Error('superseded'))
    this.#partial = null
    this.#chunks = []
    this.#bytes = 0
    this.#clock.reset()
  }

  #end(): void {
    clearInterval(this.#heartbeat)
    this.#final?.abort(new Error('the client has disconnected'))
    this.#forget()
  }
}

function parsed(text: string): { readonly op?: unknown; readonly language_hint?: unknown } {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}
