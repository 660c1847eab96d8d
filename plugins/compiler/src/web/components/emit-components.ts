import { type Diagnostic, diagnostic } from '../../diagnostics/diagnostic.ts'
import { layout } from '../../doc/doc.ts'
import { RUNTIME_MODULE, runtimeText } from '../../typescript/runtime/helpers.ts'
import { type BuiltWebIr, webIr } from '../../web-ir/build-web-ir.ts'
import { validateWebIr } from '../../web-ir/validate.ts'
import { viewOfDom } from '../../web-ir/view-of-dom.ts'
import { hookFiles } from '../app-hooks/hooks-file.ts'
import type { EmittedFile } from '../emitted-file.ts'
import { header } from '../header.ts'
import { FORMS_MODULE } from '../typescript/emitted-module.ts'
import type { WebModule } from '../web-module.ts'
import { componentFile, viewText } from './component-file.ts'
import { formsFile } from './forms-file.ts'
import { functionsFile } from './functions-file.ts'
import { islandsFile } from './islands-file.ts'
import { styleFile } from './style-file.ts'
import { type TranslatedView, translateViews } from './translate-views.ts'
import { v0File } from './v0-file.ts'

export interface ComponentOptions {
  /** True if errors of the web IR fail the generation. */
  readonly validate: boolean
  /** True if a view is generated from the web IR, provided that the web IR matches the program. */
  readonly reactiveViews: boolean
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
  const { module, hir, name: source } = web
  const views = translateViews(module, hir)
  const built = webIr(module, hir, views)
  const problems = validateWebIr(built)
  const files = views.components.flatMap((view): EmittedFile[] => {
    const style = view.declaration.kind === 'Component' ? styleFile(view.declaration) : null
    const displayed = displayedView(view, built, problems.length === 0, options)
    const file = componentFile(view.translation, displayed, { source, hasStyle: style !== null })
    return style === null ? [file] : [file, style]
  })
  const forms = formsFile(web, views)
  const hooks = hookFiles(web, views)
  const others = module.items.flatMap((item): EmittedFile[] => {
    if (item.kind === 'V0') return [v0File(item, views, source)]
    // Each form also gets a module of its name, which re-exports it.
    if (item.kind !== 'Form') return []
    const text = `${header(source)}\nexport { ${item.name.text} } from '${FORMS_MODULE}'\n`
    return [{ path: `${item.name.text}.tsx`, text }]
  })
  const functions = functionsFile(views, source)
  const runtime = runtimeText(views.helpers)
  const shared = [
    forms,
    ...hooks,
    functions,
    islandsFile(module, source),
    runtime === null ? null : { path: `${RUNTIME_MODULE.slice(2)}.ts`, text: `${header(source)}\n${runtime}` }
  ].filter(file => file !== null)
  const { program } = views
  const found = program.problems.map(({ code, message, span }) => diagnostic(code, message, span))
  return { files: [...files, ...others, ...shared], diagnostics: options.validate ? [...found, ...problems] : found }
}

/** Returns the view from the web IR if it matches the program, else the view from the program. */
function displayedView(
  { translation }: TranslatedView,
  { ir }: BuiltWebIr,
  isValid: boolean,
  { reactiveViews, trace }: ComponentOptions
) {
  const { name, view } = translation
  if (view === null) return null
  const root = reactiveViews && isValid ? ir?.view_roots.find(([component]) => component === name)?.[1] : undefined
  const described = root === undefined || ir === null ? null : viewOfDom(ir.dom_nodes, root)
  const isSame =
    described !== null && withoutBlanks(viewText(translation, described)) === withoutBlanks(viewText(translation, view))
  trace?.(`${name}: ${isSame ? 'from the web IR' : 'direct'}`)
  return isSame ? described : view
}

function withoutBlanks(doc: Parameters<typeof layout>[0]): string {
  return layout(doc, 2).replace(/\s+/g, '')
}
