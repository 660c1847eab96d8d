import type { Annotated, Field, Param } from './ast.ts'
import type { Expression, StringLiteral } from './ast-expressions.ts'
import type { Statement } from './ast-statements.ts'
import type { Type } from './ast-types.ts'
import type { Name, Node, Span } from './node.ts'

export interface Component extends Node<'Component'>, Annotated {
  readonly name: Name
  readonly params: readonly Param[]
  readonly members: readonly ComponentMember[]
  /** Span of the braces around the members. */
  readonly body: Span
  readonly styles: readonly StyleBlock[]
}

export type ComponentMember = State | Derived | Effect | Lifecycle | View | Statement

export interface State extends Node<'State'> {
  readonly name: Name
  readonly type: Type | null
  readonly value: Expression
}

export interface Derived extends Node<'Derived'> {
  readonly name: Name
  readonly type: Type | null
  readonly value: Expression
}

/** An effect: `effect depends_on(a, b): …`. */
export interface Effect extends Node<'Effect'> {
  /** null if there is no `depends_on`. */
  readonly dependencies: readonly Name[] | null
  readonly body: Expression
}

export interface Lifecycle extends Node<'Lifecycle'> {
  readonly moment: 'mount' | 'cleanup'
  readonly body: Expression
}

export interface View extends Node<'View'> {
  readonly root: Expression
}

export interface StyleBlock extends Node<'StyleBlock'> {
  readonly form: 'style' | 'raw_css'
  readonly rules: readonly StyleRule[]
}

export interface StyleRule extends Node<'StyleRule'> {
  /** The class name, without the dot. */
  readonly className: Name
  readonly properties: readonly (Node<'StyleProperty'> & { readonly name: Name; readonly value: StringLiteral })[]
}

export interface Island extends Node<'Island'>, Annotated {
  readonly name: Name
  readonly props: readonly Field[]
}

/** A component from v0: `@v0 "id" Name {…}` (`fromFile` is false) or `@v0 from "path" Name {…}`. */
export interface V0Component extends Node<'V0'>, Annotated {
  readonly source: StringLiteral
  readonly fromFile: boolean
  readonly name: Name
  readonly props: readonly Field[]
}

export interface Routes extends Node<'Routes'>, Annotated {
  readonly entries: readonly (RouteEntry | RouteFallback)[]
}

/** A page: `"/path" to Page with (loader: f) { children }`. */
export interface RouteEntry extends Node<'RouteEntry'> {
  readonly path: StringLiteral
  readonly component: Name
  readonly options: readonly { readonly key: Name; readonly value: Name }[]
  readonly children: readonly RouteEntry[]
}

export interface RouteFallback extends Node<'RouteFallback'> {
  readonly moment: 'not_found' | 'error'
  readonly component: Name
}

export interface UrlDeclaration extends Node<'Url'>, Annotated {
  readonly name: Name
  readonly entries: readonly UrlEntry[]
}

export interface UrlEntry extends Node<'UrlEntry'> {
  readonly name: Name
  readonly params: readonly (Node<'UrlParam'> & {
    readonly isOptional: boolean
    readonly name: Name
    readonly type: Type
  })[]
}

export interface Fragment extends Node<'Fragment'>, Annotated {
  readonly name: Name
  readonly params: readonly Param[]
  readonly body: Expression
}

export interface Form extends Node<'Form'>, Annotated {
  readonly name: Name
  readonly items: readonly (FormField | FormSubmit | FormRedirect)[]
}

export interface FormField extends Node<'FormField'> {
  readonly name: Name
  readonly type: Type
  readonly rules: readonly { readonly name: Name; readonly args: readonly Expression[] | null }[]
}

export interface FormSubmit extends Node<'FormSubmit'> {
  readonly handler: Name
}

/** The page after a successful submit: `success_redirect: "/thanks"`. */
export interface FormRedirect extends Node<'FormRedirect'> {
  readonly path: StringLiteral
}

/** An app hook: a block of `@back_button`, `@deep_link`, `@push` or `@tokens`. */
export interface AppHook extends Node<'AppHook'>, Annotated {
  readonly hook: 'back_button' | 'deep_link' | 'push' | 'tokens'
  readonly name: Name | null
  readonly entries: readonly (Node<'AppHookEntry'> & { readonly name: Name; readonly value: Expression })[]
}
