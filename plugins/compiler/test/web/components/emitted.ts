import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import type { Test } from 'tap'
import { renderDiagnostic } from '#diagnostics'
import { checkFile, hasErrors, SourceFile } from '#root'
import { type ComponentOptions, emitComponents, emitProject, type WebModule, webModule } from '#web'
import { install } from '../building.ts'

const OPTIONS: ComponentOptions = { validate: true }

/** Returns a program as the input of a build. Throws if it has errors. */
export function webModuleOf(source: string, allowComponentFunctions = false): WebModule {
  const file = new SourceFile('app.vox', source)
  const options = { script: false, strict: false, allowComponentFunctions, suppressHookLints: true }
  const { parsed, diagnostics } = checkFile(file, options)
  if (hasErrors(diagnostics)) throw new Error(diagnostics.map(each => renderDiagnostic(each, file, false)).join('\n'))
  return webModule(parsed.module, file)
}

export interface Emitted {
  /** Content of the emitted files, by path. */
  readonly files: Readonly<Record<string, string>>
  readonly codes: readonly string[]
}

export function emitted(
  source: string,
  options: Partial<ComponentOptions> = {},
  allowComponentFunctions = false
): Emitted {
  const web = webModuleOf(source, allowComponentFunctions)
  const { files, diagnostics } = emitComponents(web, { ...OPTIONS, ...options })
  return {
    files: Object.fromEntries(files.map(({ path, text }) => [path, text])),
    codes: diagnostics.map(({ code }) => code)
  }
}

/** Returns the lines between the first and the last brace of a component, without its indentation. */
export function bodyOf({ files }: Emitted, component: string): string {
  const text = files[`${component}.tsx`] ?? ''
  const [, body = ''] = /^export function \w+\([^\n]*\{\n([\s\S]*)^\}$/m.exec(text) ?? []
  return body.replace(/^ {2}/gm, '').trim()
}

/** Returns the JSX of a component with this view. */
export function viewOf(view: string, before = '', declarations = ''): string {
  const body = bodyOf(emitted(`${declarations}\ncomponent View() {\n${before}\nview: ${view}\n}\n`), 'View')
  return body.slice(body.lastIndexOf('\nreturn ') + 1).replace(/^return /, '')
}

/** Writes all files of a build, and links the packages that they import. */
export function writeProject(folder: string, source: string, allowComponentFunctions = false): void {
  const web = webModuleOf(source, allowComponentFunctions)
  const components = emitComponents(web, OPTIONS)
  const options = {
    mode: 'app',
    target: 'fullstack',
    mobileTarget: null,
    layout: 'spa',
    express: false,
    tokens: null,
    sourceFolder: '.',
    locate: () => null
  } as const
  const { files } = emitProject(web, components, options)
  mkdirSync(folder, { recursive: true })
  for (const { path, text } of files) writeFileSync(join(folder, path), text)
}

/** Bundles the modules of a program for Node, and imports the bundle. `entry` is the source of its entry module. */
export async function running(t: Test, source: string, entry: string): Promise<Record<string, unknown>> {
  const folder = t.testdir()
  writeProject(folder, source, true)
  install(folder)
  writeFileSync(join(folder, 'chart.tsx'), CHART)
  writeFileSync(join(folder, 'entry.ts'), entry)
  const outfile = join(folder, 'entry.mjs')
  await build({
    entryPoints: [join(folder, 'entry.ts')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    jsx: 'automatic',
    loader: { '.css': 'empty' },
    external: ['react', 'react-dom', '@tanstack/*'],
    logLevel: 'silent'
  })
  return (await import(pathToFileURL(outfile).href)) as Record<string, unknown>
}

/** Source of a component that programs import. */
export const CHART =
  'export function Chart(props: { values: readonly number[]; className?: string; onClick?: () => void }) {\n  return <i className={props.className}>{props.values.join()}</i>\n}\n'
