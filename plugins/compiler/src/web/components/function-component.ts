import type { Doc } from '../../doc/doc.ts'
import type { Fragment, FunctionDeclaration } from '../../syntax/ast.ts'
import type { EmittedModule } from '../typescript/emitted-module.ts'
import { Scope } from '../typescript/scope.ts'
import { usedNames } from '../typescript/used-names.ts'
import { ViewTranslator } from '../typescript/view-translator.ts'
import { type ComponentTranslation, translateParams } from './component-translation.ts'

/** Translates a fragment, which is a view with parameters. */
export function translateFragment(declaration: Fragment, file: EmittedModule): ComponentTranslation {
  const { name, params, body } = declaration
  const scope = new Scope(null, usedNames(declaration, file.program))
  const view = new ViewTranslator(file, scope)
  const list = translateParams(params, view, scope)
  return {
    name: name.text,
    file,
    params: list,
    statements: [],
    view: view.node(body),
    resolve: view.resolve,
    behaviors: []
  }
}

/** Translates a function that is used as an element. Its statements return the element. */
export function translateFunctionComponent(
  declaration: FunctionDeclaration,
  file: EmittedModule
): ComponentTranslation {
  const { name, params, body } = declaration
  const scope = new Scope(null, usedNames(declaration, file.program))
  const view = new ViewTranslator(file, scope)
  const list = translateParams(params, view, scope)
  const statements: Doc[] = body === null ? [] : view.written(() => view.into(body, { kind: 'return' }))
  return { name: name.text, file, params: list, statements, view: null, resolve: view.resolve, behaviors: [] }
}
