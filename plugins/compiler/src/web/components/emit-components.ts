import { type Diagnostic, diagnostic } from '../../diagnostics/diagnostic.ts'
import { componentFile } from '../../react/component-file.ts'
import { webTreeOf } from '../../react/web-tree.ts'
import type { EmittedFile } from '../../typescript/emitted-file.ts'
import { header } from '../../typescript/header.ts'
import { type Build, FORMS_MODULE } from '../../typescript/module.ts'
import { newBuild } from '../../typescript/new-build.ts'
import type { EmittedProgram } from '../../typescript/program.ts'
import { RUNTIME_MODULE, runtimeText } from '../../typescript/runtime/helpers.ts'
import { webIrDocument } from '../../web-ir/document.ts'
import { validateWebIr } from '../../web-ir/validate.ts'
import { hookFiles } from '../app-hooks/hooks-file.ts'
import type { WebModule } from '../web-module.ts'
import { formsFile } from './forms-file.ts'
import { functionsFile } from './functions-file.ts'
import { islandsFile } from './islands-file.ts'
import { stateMachinesFile } from './state-machines.ts'
import { styleFile } from './style-file.ts'
import { v0File } from './v0-file.ts'

export interface ComponentOptions {
  /** True if errors of the web IR fail the generation. */
  readonly validate: boolean
  /** Called with a line about the source of each view. */
  readonly trace?: (line: string) => void
}

export interface EmittedComponents {
  /** Modules of components in source order, then shared modules. */
  readonly files: readonly EmittedFile[]
  readonly diagnostics: readonly Diagnostic[]
}

/**
 * Generates TypeScript modules with the components, fragments and forms of a module without errors, and their helpers.
 */
export function emitComponents(web: WebModule, options: ComponentOptions): EmittedComponents {
  const { module, hir, pages, name: source } = web
  const tree = webTreeOf(module, web.source.text, hir)
  const problems = validateWebIr(webIrDocument(module, hir, tree))
  const files = tree.components.flatMap((component): EmittedFile[] => {
    const style = styleFile(component)
    if (component.view !== null) options.trace?.(`${component.name}: from the web IR`)
    const file = componentFile(component, { source, hasStyle: style !== null })
    return style === null ? [file] : [file, style]
  })
  const forms = formsFile(web, tree)
  const hooks = hookFiles(web, tree)
  const others = pages.views.flatMap((view): EmittedFile[] => {
    if (view.kind === 'V0') return [v0File(view, tree, source)]
    // Each form also gets a module of its name, which re-exports it.
    if (view.kind !== 'Form') return []
    const { name } = view.name
    return [{ path: `${name}.tsx`, text: `${header(source)}\nexport { ${name} } from '${FORMS_MODULE}'\n` }]
  })
  const shared = [forms, ...hooks, stateMachinesFile(tree, source), islandsFile(pages, source)]
  const { program } = tree
  return {
    files: [...files, ...others, ...shared.filter(file => file !== null), ...sharedFiles(tree, source)],
    diagnostics: [...findingsOf(program), ...(options.validate ? problems : [])]
  }
}

/** Generates the state machines of a module without errors for clients that have no components. */
export function emitMachines({ module, source: { text }, hir, name: source }: WebModule): EmittedComponents {
  const build = newBuild(module, text, hir)
  const machines = stateMachinesFile(build, source)
  const files = machines === null ? [] : [machines, ...sharedFiles(build, source)]
  return { files, diagnostics: findingsOf(build.program) }
}

/** Generates the functions of the program and the helpers that other modules use. Other modules come first. */
function sharedFiles(build: Build, source: string): EmittedFile[] {
  const functions = functionsFile(build, source)
  const runtime = runtimeText(build.helpers)
  return [
    ...(functions === null ? [] : [functions]),
    ...(runtime === null ? [] : [{ path: `${RUNTIME_MODULE.slice(2)}.ts`, text: `${header(source)}\n${runtime}` }])
  ]
}

function findingsOf({ problems }: EmittedProgram): Diagnostic[] {
  return problems.map(({ code, message, span }) => diagnostic(code, message, span))
}
