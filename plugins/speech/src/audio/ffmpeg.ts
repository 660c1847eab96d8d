import { speechErrors, startChild } from '@svc/contracts'

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

/** Accepted demuxers. Playlists are excluded, because they could name other files and servers. */
const DEMUXERS = 'aac,avi,flac,matroska,webm,mov,mp3,ogg,wav'

/**
 * Converts a recording to mono samples at a rate, with ffmpeg.
 *
 * Throws `SPC_AUDIO_UNSUPPORTED` if ffmpeg is not installed, `SPC_AUDIO_INVALID` with the end of its output if it fails
 * or the recording is too long, and the signal's reason.
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
  const child = startChild(ffmpeg, [...read, '-i', `file:${path}`, ...write], {
    stdio: ['ignore', 'pipe', 'pipe'],
    signal,
    killSignal: 'SIGKILL'
  })
  const chunks: Buffer[] = []
  let stderrText = ''
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderrText = (stderrText + text).slice(-2000)
  })
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject).on('close', resolve)
  }).catch((error: NodeJS.ErrnoException) => {
    signal.throwIfAborted()
    throw speechErrors.create(
      'SPC_AUDIO_UNSUPPORTED',
      `${name} can be read only with ffmpeg, which cannot be run: ${error.message}`,
      {
        hint: 'install ffmpeg, set plugins.speech.ffmpeg to its path, or send WAV',
        cause: error
      }
    )
  })
  signal.throwIfAborted()
  // ffmpeg's output contains the path, which callers must not see.
  const reason = stderrText.replaceAll(path, name).replaceAll('file:', '').trim()
  if (code !== 0)
    throw speechErrors.create('SPC_AUDIO_INVALID', `ffmpeg cannot read ${name}: ${reason || `exit code ${code}`}`)
  const bytes = Buffer.concat(chunks)
  if (bytes.length > MAX_SECONDS * rate * 2)
    throw speechErrors.create('SPC_AUDIO_INVALID', `${name} is longer than ${MAX_SECONDS} seconds`)
  return samplesOf(bytes)
}

/** Converts signed 16-bit little-endian PCM to samples. Ignores an incomplete last sample. */
export function samplesOf(pcm: Buffer): Float32Array {
  return Float32Array.from({ length: Math.floor(pcm.length / 2) }, (_, at) => pcm.readInt16LE(2 * at) / 2 ** 15)
}
