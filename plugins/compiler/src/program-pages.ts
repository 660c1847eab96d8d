import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { ProgramPages } from '@svc/contracts'
import { modulesFrom, readTokens, replacedByUser } from './build-command.ts'
import { hasErrors } from './compile.ts'
import { diagnosticJson } from './diagnostics/json.ts'
import { renderDiagnostic } from './diagnostics/render.ts'
import { SourceFile } from './source-file.ts'
import { parse } from './syntax/parse.ts'
import type { EmittedFile } from './typescript/emitted-file.ts'
import type { EmittedComponents } from './web/components/emit-components.ts'
import { emitProject } from './web/emit-project.ts'
import { hashOf, LIST_FILE, readFolderList } from './web/folder-list.ts'
import { type WebModule, webModule } from './web/web-module.ts'

/** Returns the generator of pages for other plugins. A `Program` has no inferred types, so its source is parsed again. */
export function generatePages(components: (web: WebModule) => EmittedComponents): ProgramPages['generate'] {
  return async ({ path, text }, folder) => {
    const source = new SourceFile(path, text)
    const { module } = parse(text, { script: false, allowComponentFunctions: true })
    const web = webModule(module, source)
    const project = emitProject(web, components(web), {
      mode: 'app',
      target: 'fullstack',
      mobileTarget: null,
      layout: 'spa',
      express: false,
      tokens: await readTokens(path),
      ...modulesFrom(resolve(dirname(path)), folder)
    })
    const { diagnostics, title, hasPages, files, scaffold } = project
    const report = diagnostics.map(each => `${renderDiagnostic(each, source, false)}\n\n`).join('')
    // A build may be written before its user's modules, but a bundle needs them.
    if (hasErrors(diagnostics) || diagnostics.some(({ code }) => code === 'web.missing_module'))
      return { ok: false, report, diagnostics: diagnostics.map(each => ({ ...diagnosticJson(each, source) })) }
    const ofUser = await replacedByUser(web, folder, undefined, new AbortController().signal)
    const own = files.filter(file => !ofUser.paths.has(file.path))
    return {
      ok: true,
      title,
      hasPages,
      files: own,
      starters: scaffold.filter(({ path }) => path.startsWith('app/')),
      entry: 'app/main.tsx',
      built: await builtState(folder, own),
      buildFile: join(folder, LIST_FILE),
      warnings: report
    }
  }
}

/** Compares the output of the last build in a folder with the output of this program. */
async function builtState(folder: string, files: readonly EmittedFile[]): Promise<'absent' | 'current' | 'stale'> {
  const list = await readFolderList(folder)
  if (list.size === 0) return 'absent'
  // A file that is not in the list, but exists, is a module of the user.
  const isCurrent = files.every(({ path, text }) => {
    const hash = list.get(path)
    return hash === undefined ? existsSync(join(folder, path)) : hash === hashOf(text)
  })
  return isCurrent ? 'current' : 'stale'
}
