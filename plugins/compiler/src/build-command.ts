import { existsSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { type CommandDescriptor, type CommandHandler, type CommandIo, t } from '@svc/plugin-sdk'
import { readOrReport, showsColour } from './check-command.ts'
import { type CheckedFile, hasErrors } from './compile.ts'
import { type Diagnostic, diagnostic } from './diagnostics/diagnostic.ts'
import { diagnosticJson } from './diagnostics/json.ts'
import { renderDiagnostic } from './diagnostics/render.ts'
import { compilerErrors } from './errors.ts'
import type { Work } from './reward.ts'
import type { SourceFile } from './source-file.ts'
import type { EmittedFile } from './typescript/emitted-file.ts'
import { usedHooks } from './web/app-hooks/used-hooks.ts'
import { BUILD_TARGETS, type BuildTarget, MOBILE_TARGETS, type MobileTarget } from './web/build-target.ts'
import { type EmittedComponents, emitMachines } from './web/components/emit-components.ts'
import { emitProject, type ProjectOptions } from './web/emit-project.ts'
import { TOKENS_FILE } from './web/files/tokens.ts'
import { readFolderList } from './web/folder-list.ts'
import { fetchV0Components, v0Problems } from './web/v0.ts'
import { type WebModule, webModule } from './web/web-module.ts'
import { type Written, writeFolder } from './web/write-folder.ts'

export const buildCommand: CommandDescriptor = {
  command: 'build',
  summary: "Build a program's browser files: components, client, types, contracts",
  input: t.object({
    file: t.string({ minLength: 1, description: 'The source file.' }),
    mode: t.enum(['app', 'library'], {
      default: 'app',
      description: 'Output: an application, or a package for other projects.'
    }),
    target: t.enum([...BUILD_TARGETS], {
      default: 'fullstack',
      description: 'Generated part: the whole program, only the files for its server, or only the client.'
    }),
    mobile_target: t.optional(
      t.enum([...MOBILE_TARGETS], {
        description: 'Also generate a mobile application with Capacitor; native means all platforms.'
      })
    ),
    out: t.string({ default: 'dist', minLength: 1, description: 'Output folder.' }),
    scaffold: t.boolean({
      default: false,
      description: 'Also write missing starter files of an application; later builds keep them.'
    }),
    emit_ir: t.boolean({ default: false, description: 'Also write the web IR as web-ir.v1.json.' })
  }),
  args: ['file'],
  aliases: { out: 'o' }
}

interface BuildInput {
  readonly file: string
  readonly mode?: 'app' | 'library'
  readonly target?: BuildTarget
  readonly mobile_target?: MobileTarget
  readonly out?: string
  readonly scaffold?: boolean
  readonly emit_ir?: boolean
}

export interface BuildSettings {
  readonly scaffold: boolean
  readonly express: boolean
  /** From the environment and the plugin's settings; undefined if not set. */
  readonly tanstackStart: boolean | undefined
  /** From the project's `[web]` table; undefined if not set. */
  readonly projectTanstackStart: boolean | undefined
  readonly v0ApiUrl: string | undefined
  /** Absolute path of the folder with the modules of `@v0` components. */
  readonly webTsOut: string | undefined
}

/** Dependencies of the command. */
export interface Builder {
  read(paths: readonly string[]): Promise<SourceFile[]>
  check(file: SourceFile, script: boolean): Promise<CheckedFile>
  settings(): BuildSettings
  components(web: WebModule): EmittedComponents
  /** Text of `web-ir.v1.json`. */
  webIr(web: WebModule): string
  /** Receives what the command did. */
  ended?(work: Work): void
}

/**
 * Returns the command handler. Exit codes: 0; 1 if the program has errors, or if reading, fetching or writing fails. A
 * failed build changes nothing. Throws `CMP_OPTIONS_CONFLICT`.
 */
export function runBuild(builder: Builder): CommandHandler {
  return async (rawInput, io) => {
    const input = rawInput as unknown as BuildInput
    assertCompatible(input, builder.settings())
    const built = await readOrReport(() => build(builder, input, io), io)
    if (built === null) return 1
    const { findings, source, written } = built
    reportFindings(findings, source, written === null, io)
    const errors = findings.filter(({ severity }) => severity === 'error').length
    builder.ended?.({ kind: 'build', files: 1, errors, warnings: findings.length - errors })
    if (written === null) return 1
    const folder = input.out ?? 'dist'
    if (io.json) {
      const diagnostics = findings.map(each => diagnosticJson(each, source))
      io.stdout.write(`${JSON.stringify({ folder, ...written, diagnostics }, null, 2)}\n`)
    } else reportWritten(folder, written, io)
    return 0
  }
}

/** Throws `CMP_OPTIONS_CONFLICT` if an option has no effect together with another one. */
function assertCompatible(input: BuildInput, settings: BuildSettings): void {
  const { mode = 'app', target = 'fullstack', mobile_target, scaffold } = input
  const fail = (message: string, hint: string): never => {
    throw compilerErrors.create('CMP_OPTIONS_CONFLICT', message, { hint })
  }
  if (target !== 'fullstack' && scaffold === true) {
    fail(`--target ${target} builds no application, so --scaffold has no effect`, 'omit one of them')
  }
  if (mobile_target === undefined) return
  const mobileOption = `--mobile-target ${mobile_target}`
  if (target !== 'fullstack')
    fail(`--target ${target} builds no application, so ${mobileOption} has no effect`, 'omit one of them')
  if (mode === 'library')
    fail(`--mode library builds no application, so ${mobileOption} has no effect`, 'omit one of them')
  if (layoutOf(settings) === 'start') {
    fail(
      `${mobileOption} requires pages without server rendering, but tanstack_start is on`,
      'turn SVC_WEB_TANSTACK_START off'
    )
  }
}

interface Built {
  readonly source: SourceFile
  readonly findings: readonly Diagnostic[]
  /** null if the program has errors. */
  readonly written: Written | null
}

async function build(builder: Builder, input: BuildInput, io: CommandIo): Promise<Built | null> {
  const { file, mode = 'app', target = 'fullstack', mobile_target = null, out = 'dist', emit_ir = false } = input
  const sources = await builder.read([file])
  const [source] = sources
  if (source === undefined || sources.length > 1) {
    throw compilerErrors.create('CMP_FILE_UNREADABLE', `${file} is a folder with ${sources.length} source files`, {
      hint: 'name a single file'
    })
  }
  const settings = builder.settings()
  const checked = await builder.check(source, false)
  if (hasErrors(checked.diagnostics)) return { source, findings: checked.diagnostics, written: null }
  const web = webModule(checked.parsed.module, source)
  const folder = resolve(dirname(source.path))
  const options: ProjectOptions = {
    mode,
    target,
    mobileTarget: mobile_target,
    layout: layoutOf(settings),
    express: settings.express,
    tokens: await readTokens(source.path),
    ...modulesFrom(folder, resolve(out))
  }
  const project = emitProject(web, componentsFor(target, web, builder), options)
  const findings = [...checked.diagnostics, ...project.diagnostics]
  if (hasErrors(findings)) return { source, findings, written: null }
  const userModules =
    target === 'fullstack'
      ? await replacedByUser(web, out, settings.v0ApiUrl, io.signal)
      : { paths: new Set<string>(), fetched: [] }
  const ir = emit_ir ? [{ path: 'web-ir.v1.json', text: builder.webIr(web) }] : []
  const files = [...project.files.filter(({ path }) => !userModules.paths.has(path)), ...ir]
  const scaffold = input.scaffold === true || settings.scaffold ? project.scaffold : []
  const unstarted = notStarted(web, join(out, options.layout === 'spa' ? 'app/main.tsx' : 'src/router.tsx'))
  const written = await writeFolder(out, files, [...scaffold, ...project.config, ...userModules.fetched])
  const missing = settings.webTsOut === undefined ? [] : await v0Problems(web.module, settings.webTsOut)
  const exportFindings = missing.map(({ message, span }) => diagnostic('web.v0_export', message, span))
  const hookFindings = target === 'fullstack' && mode === 'app' ? unstarted : []
  return { source, findings: [...findings, ...exportFindings, ...hookFindings], written }
}

/** Returns the translated code that a target needs: all of it, only the state machines, or none. */
function componentsFor(target: BuildTarget, web: WebModule, builder: Builder): EmittedComponents {
  switch (target) {
    case 'fullstack':
      return builder.components(web)
    case 'client':
      return emitMachines(web)
    case 'server':
      return { files: [], diagnostics: [] }
  }
}

/** Reports app hooks that the user's main module does not start. */
function notStarted({ module }: WebModule, main: string): Diagnostic[] {
  const hooks = usedHooks(module)
  const [hook] = module.items.filter(item => item.kind === 'AppHook' && item.hook !== 'tokens')
  if (hooks === null || hook === undefined || !existsSync(main)) return []
  if (readFileSync(main, 'utf8').includes('startMobile')) return []
  const suggestions = ["import `startMobile` from './mobile' in that file, and call it"]
  return [diagnostic('web.hook.not_started', `${main} does not start the app hooks`, hook, { suggestions })]
}

/** Returns how the modules of a build in `out` find those of the user. `folder`: folder of the program. */
export function modulesFrom(folder: string, out: string): Pick<ProjectOptions, 'sourceFolder' | 'locate'> {
  return {
    sourceFolder: relative(out, folder).split(sep).join('/') || '.',
    locate: path => (isModule(join(folder, path)) ? 'program' : isModule(join(out, path)) ? 'build' : null)
  }
}

/** True if a module exists at the path, with any extension. */
function isModule(path: string): boolean {
  return ['.tsx', '.ts', '.jsx', '.js'].some(ending => existsSync(path + ending))
}

function layoutOf({ tanstackStart, projectTanstackStart }: BuildSettings): ProjectOptions['layout'] {
  if (tanstackStart !== undefined && tanstackStart !== (projectTanstackStart ?? tanstackStart)) {
    const message = `SVC_WEB_TANSTACK_START is ${tanstackStart}, and tanstack_start of [web] is ${projectTanstackStart}`
    throw compilerErrors.create('CMP_LAYOUT_MISMATCH', message, {
      hint: 'set both to the same value, or remove one of them; nothing was written'
    })
  }
  return (tanstackStart ?? projectTanstackStart ?? false) ? 'start' : 'spa'
}

export async function readTokens(sourcePath: string): Promise<ProjectOptions['tokens']> {
  const path = join(dirname(sourcePath), TOKENS_FILE)
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if ((error as { readonly code?: string }).code === 'ENOENT') return null
    throw compilerErrors.create('CMP_FILE_UNREADABLE', `${path} cannot be read: ${String(error)}`, {
      hint: 'make the file readable, or remove it',
      cause: error
    })
  })
  return text === null ? null : { path, text }
}

/** Returns the `@v0` components whose modules exist or were fetched. The build writes no placeholders for them. */
export async function replacedByUser(
  web: WebModule,
  out: string,
  v0ApiUrl: string | undefined,
  signal: AbortSignal
): Promise<{ paths: ReadonlySet<string>; fetched: readonly EmittedFile[] }> {
  const listed = await readFolderList(out)
  const candidates = web.module.items.flatMap(item => (item.kind === 'V0' ? [`${item.name.text}.tsx`] : []))
  const users = new Set<string>()
  for (const path of candidates) {
    const exists = await readFile(join(out, path)).then(
      () => true,
      () => false
    )
    if (exists && !listed.has(path)) users.add(path)
  }
  const fetched =
    v0ApiUrl === undefined ? [] : await fetchV0Components(web.module, v0ApiUrl, path => users.has(path), signal)
  return { paths: new Set([...users, ...fetched.map(({ path }) => path)]), fetched }
}

function reportFindings(findings: readonly Diagnostic[], source: SourceFile, hasFailed: boolean, io: CommandIo): void {
  if (io.json) {
    if (hasFailed)
      io.stdout.write(
        `${JSON.stringify(
          findings.map(each => diagnosticJson(each, source)),
          null,
          2
        )}\n`
      )
    return
  }
  for (const each of findings) io.stderr.write(`${renderDiagnostic(each, source, showsColour(io.stderr))}\n\n`)
  const errors = findings.filter(({ severity }) => severity === 'error').length
  if (hasFailed) io.stderr.write(`built nothing: ${source.path} has ${errors} error${errors === 1 ? '' : 's'}\n`)
}

function reportWritten(folder: string, { written, unchanged, removed, kept }: Written, io: CommandIo): void {
  for (const path of written) io.stdout.write(`wrote ${join(folder, path)}\n`)
  for (const path of removed) io.stdout.write(`removed ${join(folder, path)}\n`)
  for (const path of kept) io.stdout.write(`kept ${join(folder, path)}, which changed after the last build\n`)
  const total = written.length + unchanged.length
  io.stderr.write(
    `built ${folder}: ${total} ${total === 1 ? 'file' : 'files'}, ${written.length} of them new or changed\n`
  )
}
