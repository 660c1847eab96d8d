import type { HirType } from '../hir.ts'
import type { Component } from './components.ts'
import type { Body, Bool, Decimal, Expr, Float, Int, Local, LocalId, Span, Str } from './expressions.ts'
import type { Type } from './types.ts'

/** Elements of views, pages, and machines that pages run. */
export interface Pages {
  /** Everything that views use as an element, in source order. */
  readonly views: readonly View[]
  /** Names of modules of TypeScript, in source order. */
  readonly imports: readonly ScriptImport[]
  /** One for each `routes` block. */
  readonly routes: readonly Routes[]
  readonly machines: readonly Machine[]
}

/** A name in the source. */
export interface Reference extends Span {
  readonly name: string
}

export type View = ComponentView | FunctionView | Island | ExternalView | Form

interface Head<K extends string> {
  readonly kind: K
  readonly name: Reference
  readonly properties: readonly ViewProperty[]
}

/** A property of an element. */
export interface ViewProperty {
  readonly name: string
  /** Type as written; null if it has none. */
  readonly annotation: HirType | null
  /** Type of the annotation; null without one. */
  readonly type: Type | null
  readonly isOptional: boolean
}

/** A component or a fragment, which has neither members nor styles. */
export interface ComponentView extends Head<'Component' | 'Fragment'> {
  readonly code: Component
  readonly styles: readonly StyleRule[]
}

/** Rule of a class in a `style` block. */
export interface StyleRule extends Span {
  readonly className: string
  /** True if the values are plain CSS, which is not typed. */
  readonly isRaw: boolean
  readonly declarations: readonly (readonly [property: string, value: string])[]
}

/** A function that is used as an element. An island is mounted by the page that holds it. */
export interface FunctionView extends Head<'Function'> {
  readonly isIsland: boolean
  readonly code: Body
}

/** A component of TypeScript, which is mounted in the place that views leave for it. */
export interface Island extends Head<'Island'> {}

/** A component of v0: by its id, or from a file next to the program. */
export interface ExternalView extends Head<'V0'> {
  readonly source: Reference
  readonly isFile: boolean
}

/** A form without properties, which passes its input to a function. */
export interface Form extends Head<'Form'> {
  readonly fields: readonly FormField[]
  /** Function that gets the input; null if nothing does. */
  readonly submit: Reference | null
  /** Address after a successful submit; null to stay. */
  readonly redirect: string | null
}

export interface FormField {
  readonly name: string
  readonly type: Type
  readonly rules: readonly FormRule[]
}

/** A rule of a field: `required`, `max(10)`. */
export interface FormRule {
  readonly name: string
  /** First argument; null if the rule has none, or if it is no literal. */
  readonly value: Literal | null
}

export type Literal = Int | Float | Decimal | Str | Bool

/** A component or a function of a module of TypeScript. */
export interface ScriptImport {
  readonly kind: 'component' | 'function'
  readonly name: Reference
  /** Path or package of the module. */
  readonly source: Reference
}

/** A `routes` block. */
export interface Routes extends Span {
  readonly pages: readonly PageRoute[]
  readonly fallbacks: readonly PageFallback[]
}

/** An address with its component. */
export interface PageRoute {
  /** As written: from the address of the parent, with parameters as `:id`. */
  readonly path: string
  readonly component: Reference
  /** Query whose value the page shows. */
  readonly loader: Reference | null
  readonly pending: Reference | null
  readonly error: Reference | null
  /** Options with other names, which are errors. */
  readonly unknownOptions: readonly Reference[]
  readonly children: readonly PageRoute[]
}

/** Component that is shown if no page has the address, or if a page fails. */
export interface PageFallback {
  readonly moment: 'not_found' | 'error'
  readonly component: Reference
}

/** A state machine. */
export interface Machine {
  readonly name: string
  readonly states: readonly MachineState[]
  readonly transitions: readonly Transition[]
}

export interface MachineState {
  readonly name: string
  readonly isTerminal: boolean
  readonly fields: readonly MachineField[]
}

/** A field of a state or of an event. */
export interface MachineField {
  readonly name: string
  /** Type as written; null if it has none. */
  readonly annotation: HirType | null
}

/** The next state after an event in a state. */
export interface Transition {
  readonly event: string
  readonly fields: readonly MachineField[]
  /** null for any state. */
  readonly from: string | null
  readonly target: Reference
  /** Variables of the values: fields of the state and of the event, and those of the code. */
  readonly locals: readonly Local[]
  /** Fields that the values read, by their variables. */
  readonly reads: readonly TransitionRead[]
  /** Value of each field of the target, in order; null if nothing gives it one. */
  readonly values: readonly (Expr | null)[]
}

export interface TransitionRead {
  readonly local: LocalId
  readonly of: 'state' | 'event'
  readonly field: string
}
