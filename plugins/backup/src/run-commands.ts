import { open } from 'node:fs/promises'
import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import { type CommandHandler, type CommandIo, type Infer, isSvcError } from '@svc/plugin-sdk'
import type { Keys } from './age/keys.ts'
import { generateKeys } from './age/keys.ts'
import { verifyArchive } from './archive/verify.ts'
import type { Backups, Dependencies } from './backups.ts'
import type { createInput, keyInput, listInput, restoreInput, verifyInput } from './commands.ts'
import { backupErrors, fileError } from './errors.ts'
import { ask, keysOf, locksOf } from './keys-of-command.ts'
import { restoreArchive } from './restore/restore.ts'

const PROGRESS_MS = 250

export function runCreate(backups: Backups, { settings }: Dependencies): CommandHandler {
  return async (given, io) => {
    const { file, ...options } = given as unknown as Infer<typeof createInput>
    const isWithout = options.without_keys || settings().without_keys
    const locks = await locksOf({ ...options, without_keys: isWithout }, settings(), io)
    const progress = new ProgressLine(io)
    const created = await backups.create(
      { file: file === undefined ? null : resolve(file), locks, withKeys: !isWithout },
      ({ files, totalFiles, bytes, path }) => progress.show(`${files} of ${totalFiles} files, ${size(bytes)}: ${path}`),
      io.signal
    )
    progress.end()
    if (io.json) return json(io, created)
    const skipped = created.left_out.map(({ path, reason }) => `  ${path} (${reason})`)
    const kind = created.encrypted ? 'encrypted' : created.with_keys ? 'not encrypted, with keys' : 'without keys'
    return text(io, [
      `${created.file}: ${created.files} files, ${created.databases} databases, ${size(created.bytes)}, ${kind}`,
      ...(skipped.length === 0 ? [] : ['left out:', ...skipped]),
      `check it with: svc backup verify ${created.file}`
    ])
  }
}

export function runVerify(backups: Backups, { settings }: Dependencies): CommandHandler {
  return async (given, io) => {
    const { file, ...options } = given as unknown as Infer<typeof verifyInput>
    const archive = resolve(file)
    const progress = new ProgressLine(io)
    const manifest = await withKeys(await keysOf(options, settings()), io, keys =>
      verifyArchive({
        file: archive,
        keys,
        databases: backups.databases,
        onFile: path => progress.show(path),
        signal: io.signal
      })
    )
    progress.end()
    const { files, databases, created_at, svc_version, with_keys, left_out } = manifest
    const bytes = files.reduce((sum, each) => sum + each.bytes, 0)
    const report = {
      file: archive,
      created_at,
      svc_version,
      with_keys,
      files: files.length,
      bytes,
      databases,
      left_out
    }
    if (io.json) return json(io, { healthy: true, ...report })
    return text(io, [
      `${archive} is intact: ${files.length} files, ${databases.length} databases, ${size(bytes)}`,
      `made ${created_at} by svc ${svc_version}, ${with_keys ? 'with' : 'without'} keys`
    ])
  }
}

export function runList(backups: Backups): CommandHandler {
  return async (given, io) => {
    const { folder } = given as unknown as Infer<typeof listInput>
    const place = folder === undefined ? backups.folder : resolve(folder)
    const listed = await backups.list(place, io.signal)
    if (io.json) return json(io, { folder: place, backups: listed })
    if (listed.length === 0) return text(io, [`${place} has no backups; make one with svc backup`])
    return text(
      io,
      listed.map(({ file, created_at, bytes, encrypted, svc_version, problem }) => {
        const about = problem ?? (encrypted ? 'encrypted' : `svc ${svc_version}`)
        return `${created_at}  ${size(bytes).padStart(10)}  ${file}  ${about}`
      })
    )
  }
}

export const runKey: CommandHandler = async (given, io) => {
  const file = resolve((given as unknown as Infer<typeof keyInput>).file)
  const { identity, recipient } = await generateKeys()
  try {
    const handle = await open(file, 'wx', 0o600)
    try {
      await handle.writeFile(`# public key: ${recipient}\n${identity}\n`)
      await handle.sync()
    } finally {
      await handle.close()
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST')
      throw backupErrors.create('BKP_EXISTS', `${file} exists`, { at: { file }, hint: 'name another file' })
    throw fileError(error, file)
  }
  if (io.json) return json(io, { file, recipient })
  return text(io, [
    `the private key is in ${file}; keep it away from this machine`,
    `encrypt backups with: svc config set 'plugins.backup.recipients=["${recipient}"]'`
  ])
}

export function runRestore(backups: Backups, { kernel, settings }: Dependencies): CommandHandler {
  return async (given, io) => {
    const options = given as unknown as Infer<typeof restoreInput>
    const { file, to, force, dry_run, without_keys } = options
    if (to !== undefined && force)
      throw backupErrors.create('BKP_OPTIONS', '--force does not go with --to, which names an empty folder', {
        hint: 'use svc --project FOLDER restore FILE --force to replace the state of another project'
      })
    const project = to === undefined ? kernel.projectRoot : resolve(to)
    const isOther = project !== kernel.projectRoot
    const progress = new ProgressLine(io)
    const restored = await withKeys(await keysOf(options, settings()), io, keys =>
      restoreArchive({
        file: resolve(file),
        keys,
        roots: { project, state: stateOf(project, isOther ? null : kernel.stateRoot) },
        // Parts of this project say nothing about the files of another one, but their checks and imports hold.
        parts: isOther ? backups.parts.map(({ paths: _paths, ...part }) => part) : backups.parts,
        include: isOther ? [] : settings().include,
        withKeys: !without_keys,
        force,
        dryRun: dry_run,
        databases: backups.databases,
        onFile: path => progress.show(path),
        signal: io.signal
      })
    )
    progress.end()
    if (io.json) return json(io, restored)
    const { files, databases, replaced, kept, external, parts_left_out, created_at, svc_version } = restored
    const what = `${files} files and ${databases} databases of ${created_at} (svc ${svc_version})`
    return text(io, [
      dry_run ? `${what} would be restored to ${project}` : `${what} were restored to ${project}`,
      ...(dry_run && replaced > 0 ? [`${replaced} files would be replaced or moved away`] : []),
      ...(kept === null ? [] : [`the ${replaced} replaced files are in ${kept}`]),
      ...external.map(each => `${each.origin} was outside of the project; it is now ${each.file}`),
      ...parts_left_out.map(part => `the part ${part} was not restored`)
    ])
  }
}

/** Returns the state folder of a restored project. A project without any gets `.vox`. `own`: that of this project. */
function stateOf(project: string, own: string | null): string {
  if (own !== null) {
    const way = relative(project, own)
    if (!isAbsolute(way) && way.split(sep)[0] !== '..') return own
  }
  return join(project, '.vox')
}

/** Asks for the passphrase on a terminal if an archive needs one. */
async function withKeys<A>(keys: Keys, io: CommandIo, run: (keys: Keys) => Promise<A>): Promise<A> {
  try {
    return await run(keys)
  } catch (error) {
    const isMissing = isSvcError(error, 'BKP_KEY_REQUIRED') && /passphrase/.test(error.message)
    if (!isMissing || io.stdin.isTTY !== true) throw error
    return await run({ ...keys, passphrase: await ask(io, 'passphrase of the backup') })
  }
}

/** One line on a terminal that is replaced a few times a second. Writes nothing elsewhere. */
class ProgressLine {
  readonly #io: CommandIo
  readonly #isShown: boolean
  #at = 0

  constructor(io: CommandIo) {
    this.#io = io
    this.#isShown = !io.json && io.stdout.isTTY === true
  }

  show(line: string): void {
    if (!this.#isShown || performance.now() - this.#at < PROGRESS_MS) return
    this.#at = performance.now()
    const columns = this.#io.stdout.columns ?? 80
    this.#io.stderr.write(`\r\u001b[K${line.slice(0, columns - 1)}`)
  }

  end(): void {
    if (this.#at > 0) this.#io.stderr.write('\r\u001b[K')
  }
}

function size(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let [value, unit] = [bytes, 0]
  while (value >= 1_000 && unit < units.length - 1) {
    value /= 1_000
    unit += 1
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`
}

function json(io: CommandIo, value: object): number {
  io.stdout.write(`${JSON.stringify(value)}\n`)
  return 0
}

function text(io: CommandIo, lines: readonly string[]): number {
  io.stdout.write(`${lines.join('\n')}\n`)
  return 0
}
