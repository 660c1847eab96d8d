import { createHash } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { callDaemon, probeDaemon, readDaemonState } from '@svc/contracts'
import { type CommandIo, errorMessage, type Infer, isSvcError } from '@svc/plugin-sdk'
import { Header } from 'tar'
import { supportErrors } from './errors.ts'
import { type bundleInput, collectOperation } from './operations.ts'
import type { Section } from './sections.ts'

const BLOCK = 512

export interface BundleOptions {
  readonly projectRoot: string
  readonly version: string
  /** Collects the sections in this process. */
  readonly collect: (signal: AbortSignal) => Promise<Section[]>
}

interface BundleFile {
  readonly path: string
  readonly summary: string
  readonly bytes: number
  readonly sha256: string
  readonly content: Buffer
}

/** Asks the running server, or else this process; shows what the bundle holds; and writes it. */
export function runBundle({ projectRoot, version, collect }: BundleOptions) {
  return async ({ file: named, yes }: Infer<typeof bundleInput>, io: CommandIo): Promise<number> => {
    const time = new Date()
    const file = resolve(named ?? `svc-support-${time.toISOString().replaceAll(/[-:]|\.\d+/g, '')}.tar.gz`)
    const { source, sections } = await sectionsOf(projectRoot, collect, io.signal)
    const files = sections.map(fileOf)
    const manifest = {
      file,
      created_at: time.toISOString(),
      svc_version: version,
      source,
      files: files.map(({ content: _content, ...about }) => about)
    }
    if (!io.json)
      io.stderr.write(
        [
          `the bundle holds, from the ${source === 'server' ? 'running server' : 'project (no server runs)'}:`,
          ...files.map(
            ({ path, summary, bytes }) => `  ${path.padEnd(16)} ${String(bytes).padStart(8)} bytes  ${summary}`
          ),
          'secrets are masked; prompts, answers and files of the project are not in it. Read it before you send it.',
          ''
        ].join('\n')
      )
    await confirm(yes, io)
    await write(file, [...files, manifestFile(manifest)], time)
    io.stdout.write(io.json ? `${JSON.stringify(manifest)}\n` : `${file}\n`)
    return 0
  }
}

async function sectionsOf(
  projectRoot: string,
  collect: BundleOptions['collect'],
  signal: AbortSignal
): Promise<{ readonly source: 'server' | 'command'; readonly sections: readonly Section[] }> {
  const daemon = await readDaemonState(projectRoot)
  if (daemon !== null && (await probeDaemon(daemon))) {
    try {
      const { sections } = (await callDaemon(daemon, collectOperation.id, {}, { signal })) as {
        readonly sections: readonly Section[]
      }
      return { source: 'server', sections }
    } catch (error) {
      // A server in trouble, or one without this plugin, is why the bundle is needed.
      signal.throwIfAborted()
      const failed = { name: 'server', summary: 'why the server did not answer', value: { error: errorMessage(error) } }
      return { source: 'command', sections: [failed, ...(await collect(signal))] }
    }
  }
  return { source: 'command', sections: await collect(signal) }
}

function fileOf({ name, summary, value }: Section): BundleFile {
  const content = Buffer.from(`${JSON.stringify(value, null, 1)}\n`)
  const sha256 = createHash('sha256').update(content).digest('hex')
  return { path: `${name}.json`, summary, bytes: content.length, sha256, content }
}

function manifestFile(manifest: object): Pick<BundleFile, 'path' | 'content'> {
  return { path: 'manifest.json', content: Buffer.from(`${JSON.stringify(manifest, null, 1)}\n`) }
}

/** Throws `SUP_REFUSED`. Without a terminal, the list on standard error is enough. */
async function confirm(yes: boolean, { stdin, stderr, signal, json }: CommandIo): Promise<void> {
  if (yes || json || stdin.isTTY !== true) return
  const lines = createInterface({ input: stdin, output: stderr })
  try {
    const answer = await lines.question('write it? [y/N] ', { signal })
    if (!/^y(?:es)?$/i.test(answer.trim())) throw supportErrors.create('SUP_REFUSED', 'nothing was written')
  } finally {
    lines.close()
  }
}

/** Writes the archive to a temporary name first. Throws `SUP_EXISTS` and `SUP_WRITE_FAILED`. */
async function write(file: string, files: readonly Pick<BundleFile, 'path' | 'content'>[], time: Date): Promise<void> {
  const blocks = files.flatMap(({ path, content }) => {
    const header = new Header({ path, size: content.length, mode: 0o600, mtime: time, type: 'File' })
    header.encode()
    return [header.block as Buffer, content, Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)]
  })
  const packed = await promisify(gzip)(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]))
  const partial = `${file}.partial-${process.pid}`
  try {
    const taken = await open(file, 'r').then(
      handle => handle.close().then(() => true),
      () => false
    )
    if (taken) throw supportErrors.create('SUP_EXISTS', `${file} exists`, { hint: 'name another file' })
    const handle = await open(partial, 'w', 0o600)
    try {
      await handle.writeFile(packed)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(partial, file)
  } catch (error) {
    await rm(partial, { force: true })
    if (isSvcError(error)) throw error
    throw supportErrors.create('SUP_WRITE_FAILED', `${file} cannot be written: ${errorMessage(error)}`, {
      cause: error,
      at: { file },
      hint: 'name another file'
    })
  }
}
