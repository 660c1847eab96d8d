import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import type { CommandHandler, CommandIo } from '@svc/plugin-sdk'
import { type Builder, type BuildSettings, checkFile, readSources, runBuild } from '#root'
import { type WebGenerationSettings, webGeneration } from '#web'

const options = { allowComponentFunctions: false, suppressHookLints: false, script: false }

const SETTINGS: BuildSettings = {
  scaffold: false,
  express: false,
  tanstackStart: undefined,
  projectTanstackStart: undefined,
  v0ApiUrl: undefined,
  webTsOut: undefined
}

const WEB_IR: WebGenerationSettings = {
  webir_validate: true,
  webir_reactive_trace: false,
  island_mount_v2: false
}

export function builder(settings: Partial<BuildSettings> = {}): Builder {
  return {
    read: paths => readSources(paths, false),
    check: async file => checkFile(file, options),
    settings: () => ({ ...SETTINGS, ...settings }),
    ...webGeneration(
      () => ({ ...WEB_IR, ...settings }),
      () => {},
      () => {}
    )
  }
}

export interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

export async function run(command: CommandHandler, input: Record<string, unknown>, json = false): Promise<Ran> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const io: CommandIo = { stdin, stdout, stderr, json, signal: new AbortController().signal }
  const code = await command(input, io)
  stdout.end()
  stderr.end()
  return { code: typeof code === 'number' ? code : 0, out: await text(stdout), err: await text(stderr) }
}

export async function build(
  file: string,
  out: string,
  input: Record<string, unknown> = {},
  settings: Partial<BuildSettings> = {}
): Promise<Ran> {
  return await run(runBuild(builder(settings)), { file, out, ...input })
}

/** Returns the content of all files below a folder, by path. Skips installed packages. */
export function filesIn(folder: string): Record<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  const files = entries
    .filter(entry => entry.isFile())
    .map(entry => relative(folder, join(entry.parentPath, entry.name)))
    .filter(path => !path.startsWith('node_modules'))
  return Object.fromEntries(files.sort().map(path => [path, readFileSync(join(folder, path), 'utf8')]))
}

export const ROOT = new URL('../../../..', import.meta.url).pathname
const OWN = new URL('../../node_modules', import.meta.url).pathname

/** Links packages of this repository into a folder, in place of `npm install`. */
export function install(folder: string): void {
  const shared = ['zod', 'vite', '@types/react', '@types/react-dom', '@vitejs/plugin-react']
  const tanstack = ['@tanstack/react-query', '@tanstack/react-router']
  const places = [
    ...['react', 'react-dom'].map(name => [name, join(OWN, name)] as const),
    ...[...shared, ...tanstack].map(name => [name, join(ROOT, 'node_modules', name)] as const)
  ]
  for (const [name, place] of places) {
    const link = join(folder, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(place, link)
  }
}

const TYPESCRIPT = join(ROOT, 'node_modules/typescript/bin/tsc')

const exec = promisify(execFile)

/** Returns the TypeScript errors in a folder, with all checks on. */
export async function typeCheck(folder: string): Promise<string> {
  const strict = ['--strict', '--noUncheckedIndexedAccess', '--noUnusedLocals', '--noUnusedParameters']
  return findings(folder, strict)
}

/** Returns the TypeScript errors in a folder, with its `tsconfig.json` and additional options. */
export async function findings(folder: string, options: readonly string[] = []): Promise<string> {
  // The hooks of the test runner, which child processes inherit, cannot load the compiler.
  const argv = ['-u', 'NODE_OPTIONS', process.execPath, TYPESCRIPT, '--noEmit', '-p', folder, ...options]
  try {
    await exec('env', argv, { cwd: folder })
    return ''
  } catch (error) {
    const { stdout } = error as { readonly stdout?: string }
    if (stdout === undefined || stdout === '') throw error
    return stdout
  }
}
