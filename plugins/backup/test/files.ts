import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { BackupPart, PrimaryDatabase } from '@svc/contracts'
import { openFile } from '@svc/plugin-database/testing'
import { createArchive, databasesOf, restoreArchive, tarHeader } from '#root'

/** Opens files like the plugin `database`, which is all that backups use. */
const store = {
  open: (place: { readonly file: string }) => openFile(place.file, { busyTimeoutMs: 5_000, synchronous: 'full' })
} as unknown as PrimaryDatabase

export const databases = databasesOf(store)

export function writeFiles(root: string, files: Readonly<Record<string, string | Buffer>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), content)
  }
}

/** Returns the files below a folder with their content, except databases. */
export function readFiles(root: string): Record<string, string> {
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(name =>
    statSync(join(root, name)).isFile()
  )
  return Object.fromEntries(
    names
      .filter(name => !/\.db(?:-wal|-shm)?$/.test(name))
      .sort()
      .map(name => [name, readFileSync(join(root, name), 'utf8')])
  )
}

export interface MakeOptions {
  readonly parts?: readonly BackupPart[]
  readonly withKeys?: boolean
  readonly locks?: Parameters<typeof createArchive>[0]['locks']
  readonly secretFiles?: ReadonlySet<string>
  readonly signal?: AbortSignal
  onProgress?(): void
}

/** Backs up a project whose state is in `.vox`. */
export function make(project: string, file: string, options: MakeOptions = {}) {
  const { parts = [], withKeys = true, locks = null, secretFiles = new Set<string>(), onProgress = () => {} } = options
  return createArchive({
    file,
    projectRoot: project,
    stateRoot: join(project, '.vox'),
    repositoryId: 'test',
    version: '1.2.3',
    plugins: [],
    parts,
    include: [],
    secretFiles,
    withKeys,
    locks,
    databases,
    onProgress,
    signal: options.signal ?? new AbortController().signal
  })
}

/** Restores an archive into a folder whose state is in `.vox`. */
export function restore(
  file: string,
  project: string,
  options: Partial<Parameters<typeof restoreArchive>[0]> = {}
): ReturnType<typeof restoreArchive> {
  return restoreArchive({
    file,
    keys: { identities: [] },
    roots: { project, state: join(project, '.vox') },
    parts: [],
    include: [],
    withKeys: true,
    force: false,
    dryRun: false,
    databases,
    onFile: () => {},
    signal: new AbortController().signal,
    ...options
  })
}

export interface Entry {
  readonly path: string
  readonly content: string | Buffer
  /** Left out of the manifest. */
  readonly unlisted?: boolean
  /** Blocks instead of the usual header. */
  readonly header?: Buffer
}

/** Returns an archive of any content, also of content that no backup has. */
export function archiveOf(entries: readonly Entry[], header: object = {}): Buffer {
  const about = { format: 1, svc_version: '1.2.3', created_at: '2026-01-31T12:00:00.000Z', ...header }
  const start = { ...about, repository_id: 'test', project: 'test' }
  const files = entries
    .filter(({ unlisted }) => unlisted !== true)
    .map(({ path, content }) => ({
      path,
      bytes: Buffer.byteLength(content),
      sha256: createHash('sha256').update(content).digest('hex'),
      kind: 'file',
      part: null,
      keys: false,
      origin: null
    }))
  const manifest = { ...start, plugins: [], databases: [], with_keys: true, left_out: [], files }
  const all: Entry[] = [
    { path: 'svc-backup.json', content: JSON.stringify(start) },
    ...entries,
    { path: 'manifest.json', content: JSON.stringify(manifest) }
  ]
  const blocks = all.flatMap(({ path, content, header: given }) => {
    const bytes = Buffer.from(content)
    const block = given ?? tarHeader({ path, bytes: bytes.length, mode: 0o600, modified: 0 })
    return [block, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)]
  })
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(1_024)]))
}
