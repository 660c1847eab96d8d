import { spawn } from 'node:child_process'
import { speechErrors } from '@svc/contracts'

export interface ConvertOptions {
  /** Path of the ffmpeg program. */
  readonly ffmpeg: string
  /** Absolute path. */
  readonly path: string
  /** Name of the file in messages. */
  readonly name: string
  readonly rate: number
  readonly signal: AbortSignal
}

/** Maximum length of a recording, in seconds. */
export const MAX_SECONDS = 7_200

/** Formats by accepted file endings. A playlist, which could name other files and servers, is not accepted. */
const DEMUXERS = 'aac,avi,flac,matroska,webm,mov,mp3,ogg,wav'

/**
 * Has ffmpeg read a file of any of the formats that it knows: mono samples at a rate.
 *
 * Throws `SPC_AUDIO_UNSUPPORTED` where the program is not installed, `SPC_AUDIO_INVALID` with its last words where it
 * fails or the recording is too long, and the signal's reason.
 */
export async function convert({ ffmpeg, path, name, rate, signal }: ConvertOptions): Promise<Float32Array> {
  const read = ['-nostdin', '-v', 'error', '-protocol_whitelist', 'file,pipe', '-format_whitelist', DEMUXERS]
  const write = [
    '-vn',
    '-sn',
    '-dn',
    '-t',
    String(MAX_SECONDS + 1),
    '-ac',
    '1',
    '-ar',
    String(rate),
    '-f',
    's16le',
    '-'
  ]
  const child = spawn(ffmpeg, [...read, '-i', `file:${path}`, ...write], {
    stdio: ['ignore', 'pipe', 'pipe'],
    signal,
    killSignal: 'SIGKILL'
  })
  const chunks: Buffer[] = []
  let complaint = ''
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-2000)
  })
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject).on('close', resolve)
  }).catch((error: NodeJS.ErrnoException) => {
    signal.throwIfAborted()
    throw speechErrors.create(
      'SPC_AUDIO_UNSUPPORTED',
      `${name} can be read only with ffmpeg, which cannot be run: ${error.message}`,
      {
        hint: 'install ffmpeg, name it in plugins.speech.ffmpeg, or send WAV',
        cause: error
      }
    )
  })
  signal.throwIfAborted()
  // The end of its output names the path, which callers must not see.
  const said = complaint.replaceAll(path, name).replaceAll('file:', '').trim()
  if (code !== 0)
    throw speechErrors.create('SPC_AUDIO_INVALID', `ffmpeg cannot read ${name}: ${said || `code ${code}`}`)
  const bytes = Buffer.concat(chunks)
  if (bytes.length > MAX_SECONDS * rate * 2)
    throw speechErrors.create('SPC_AUDIO_INVALID', `${name} is longer than ${MAX_SECONDS} seconds`)
  return samplesOf(bytes)
}

/** Samples of signed 16-bit little-endian PCM; an incomplete last sample is ignored. */
export function samplesOf(pcm: Buffer): Float32Array {
  return Float32Array.from({ length: Math.floor(pcm.length / 2) }, (_, at) => pcm.readInt16LE(2 * at) / 2 ** 15)
}
