import type { Expression, StringLiteral } from './ast-expressions.ts'
import type { Block, Statement } from './ast-statements.ts'
import type { Type } from './ast-types.ts'
import type { AppHook, Component, Form, Fragment, Island, Routes, UrlDeclaration, V0Component } from './ast-web.ts'
import type { Name, Node, Span } from './node.ts'

/** A file, with its declarations in source order. */
export interface Module extends Node<'Module'> {
  readonly items: readonly Declaration[]
  /** Number of ids: those of the expressions, patterns and entries of the module are smaller. */
  readonly nodeCount: number
}

export type Declaration =
  | Import
  | TypeDeclaration
  | Table
  | Index
  | FunctionDeclaration
  | HttpRoute
  | Actor
  | Workflow
  | Activity
  | Agent
  | Environment
  | Component
  | Island
  | V0Component
  | Routes
  | Const
  | ExternFunction
  | UrlDeclaration
  | StateMachine
  | Fragment
  | Form
  | AppHook
  | ScriptStatement

/** Common properties of every declaration except `import`. */
export interface Annotated {
  /** Decorators in source order, including the one that gives a function its role. */
  readonly decorators: readonly Decorator[]
  readonly isPublic: boolean
}

/**
 * A decorator: `@name(args) "string" …`. Synonyms are normalised: `@tool` to `mcp.tool`, `@resource` to `mcp.resource`,
 * `@llm` to `ai`, `@theme` to `tokens`. `@endpoint(kind: query, …)` becomes `query` with the other arguments.
 */
export interface Decorator extends Node<'Decorator'> {
  /** The name, without the `@`. */
  readonly name: Name
  /** null if there are no parentheses. */
  readonly args: readonly DecoratorArgument[] | null
  /** Strings that follow the decorator, outside parentheses. */
  readonly strings: readonly StringLiteral[]
}

export interface DecoratorArgument extends Node<'DecoratorArgument'> {
  readonly name: Name | null
  readonly value: Expression
}

export interface Import extends Node<'Import'> {
  readonly items: readonly ImportItem[]
}

export type ImportItem = PathImport | RustImport | ReactImport

export interface PathImport extends Node<'PathImport'> {
  readonly path: readonly Name[]
  /** `/` if the path is written as `a/b`. */
  readonly separator: '.' | '/'
  readonly alias: Name | null
  /** The imported names of `as { a, b as c }`. */
  readonly members: readonly { readonly name: Name; readonly alias: Name | null }[] | null
}

export interface RustImport extends Node<'RustImport'> {
  readonly crate: Name
  readonly metadata: readonly { readonly key: Name; readonly value: StringLiteral }[]
  readonly alias: Name | null
}

export interface ReactImport extends Node<'ReactImport'> {
  readonly name: Name
  readonly source: StringLiteral
}

export interface TypeDeclaration extends Node<'Type'>, Annotated {
  readonly name: Name
  readonly generics: readonly Name[]
  readonly definition: TypeDefinition
}

export type TypeDefinition =
  | { readonly form: 'variants'; readonly variants: readonly Variant[] }
  | { readonly form: 'struct'; readonly fields: readonly Field[] }
  | { readonly form: 'alias'; readonly type: Type }

export interface Variant extends Node<'Variant'> {
  readonly name: Name
  /** Payload in parentheses or braces. Unnamed fields are called `_0`, `_1`, …; their names have zero width. */
  readonly fields: readonly Field[]
  /** True if the payload is written in braces. */
  readonly isRecord: boolean
}

/** A column, a member of a struct, a field of a variant, or a property of an island. */
export interface Field extends Node<'Field'> {
  readonly decorators: readonly Decorator[]
  readonly name: Name
  /** True for `name?: type`, which is valid only in islands and v0 components. */
  readonly isOptional: boolean
  readonly type: Type
  readonly value: Expression | null
}

export interface Table extends Node<'Table'>, Annotated {
  /** `collection` for `@collection`, else `table`. The decorator is not in `decorators`. */
  readonly storage: 'table' | 'collection'
  readonly name: Name
  readonly fields: readonly Field[]
}

/** An index: `@index T.name on (a, b)`, `@search_index …` or `@vector_index …`. */
export interface Index extends Node<'Index'> {
  readonly variant: 'btree' | 'search' | 'vector'
  readonly table: Name
  readonly name: Name
  readonly columns: readonly Name[]
  /** The options `with { … }` of a search or vector index. */
  readonly options: Expression | null
}

/** Role of a function, which determines where it is registered. The decorator of the role stays in `decorators`. */
export type FunctionRole =
  | 'plain'
  | 'query'
  | 'mutation'
  | 'server'
  | 'mcp.tool'
  | 'mcp.resource'
  | 'test'
  | 'forall'
  | 'fuzz'
  | 'loading'
  | 'component'
  | 'island'

export interface FunctionDeclaration extends Node<'Function'>, Annotated {
  readonly role: FunctionRole
  /**
   * The decorator that gives the role; null for a plain function. Strings and options of the role are its arguments.
   */
  readonly roleDecorator: Decorator | null
  readonly isAsync: boolean
  readonly name: Name
  readonly generics: readonly Name[]
  readonly params: readonly Param[]
  /** The effect row: `uses net, fs`. */
  readonly effects: readonly Name[]
  readonly result: Type | null
  /** null for functions that a model implements (`@ai @prompt @subagent @search`). */
  readonly body: Block | null
}

export interface Param extends Node<'Param'> {
  /** `_` for an unused parameter. */
  readonly name: Name
  readonly type: Type | null
  readonly value: Expression | null
}

export interface HttpRoute extends Node<'HttpRoute'>, Annotated {
  readonly method: 'get' | 'post' | 'put' | 'delete'
  readonly path: StringLiteral
  /** null if there are no parentheses. */
  readonly params: readonly Param[] | null
  readonly result: Type | null
  readonly body: Block
}

export interface Handler extends Node<'Handler'> {
  readonly decorators: readonly Decorator[]
  readonly event: Name
  readonly params: readonly Param[]
  readonly result: Type | null
  readonly body: Block
}

/** A state field of an actor or an agent: `state n: T = e`, `n: T = e` or `let mut n: T = e`. */
export interface StateField extends Node<'StateField'> {
  readonly form: 'state' | 'plain' | 'let'
  readonly isMutable: boolean
  readonly name: Name
  readonly type: Type | null
  readonly value: Expression | null
}

export interface Actor extends Node<'Actor'>, Annotated {
  readonly name: Name
  /** null if there are no parentheses. */
  readonly params: readonly Param[] | null
  readonly members: readonly (StateField | Handler)[]
}

export interface Workflow extends Node<'Workflow'>, Annotated {
  readonly name: Name
  readonly params: readonly Param[]
  readonly result: Type | null
  readonly body: Block
}

export interface Activity extends Node<'Activity'>, Annotated {
  readonly name: Name
  readonly params: readonly Param[]
  readonly result: Type | null
  /** The options in `with e`. */
  readonly options: Expression | null
  readonly body: Block
}

export interface Agent extends Node<'Agent'>, Annotated {
  readonly name: Name
  readonly members: readonly (AgentVersion | Handler | Migration | StateField | AgentProperty)[]
}

export interface AgentVersion extends Node<'AgentVersion'> {
  readonly version: StringLiteral
}

/** A migration of an agent: `migrate from "1.0" { … }`. */
export interface Migration extends Node<'Migration'> {
  readonly from: StringLiteral
  readonly body: Block
}

/** A property of an agent: `instructions: "…"`, `tools: […]`. It has a string or a list instead of a type. */
export interface AgentProperty extends Node<'AgentProperty'> {
  readonly name: Name
  readonly value: Expression
}

export interface Environment extends Node<'Environment'>, Annotated {
  readonly name: Name
  readonly items: readonly EnvironmentItem[]
}

export type EnvironmentItem =
  | (Node<'EnvironmentValue'> & {
      readonly key: 'base' | 'packages' | 'expose' | 'volumes' | 'workdir' | 'cmd' | 'run'
      /** A string for `base`, `workdir` and `run`; a string or a list for `cmd`; a list for other keys. */
      readonly value: Expression
    })
  | (Node<'EnvironmentVariable'> & { readonly name: Name; readonly value: Expression })
  | (Node<'EnvironmentCopy'> & { readonly from: StringLiteral; readonly to: StringLiteral })

/** A constant outside functions: `let pattern = e` or `const name = e`. */
export interface Const extends Node<'Const'>, Annotated {
  readonly statement: Statement
}

export interface ExternFunction extends Node<'ExternFunction'>, Annotated {
  readonly name: Name
  readonly params: readonly Param[]
  readonly result: Type | null
  /** Name of the function in the foreign module. */
  readonly binding: StringLiteral
}

export interface StateMachine extends Node<'StateMachine'>, Annotated {
  readonly isPartial: boolean
  readonly name: Name
  readonly items: readonly (MachineState | Transition)[]
}

export interface MachineState extends Node<'MachineState'> {
  readonly isTerminal: boolean
  readonly name: Name
  readonly params: readonly Param[]
}

/** A transition: `on event(params) from State(a) -> Target(b)`. */
export interface Transition extends Node<'Transition'> {
  readonly event: Name
  readonly params: readonly Param[]
  /** `any` and `_` match every state. */
  readonly from: Name
  readonly fromArgs: readonly Expression[] | null
  readonly target: Name
  readonly targetArgs: readonly Expression[] | null
}

/** A top-level statement of a script. Together, these statements form its `main`. */
export interface ScriptStatement extends Node<'ScriptStatement'> {
  readonly statement: Statement
}

export type * from './ast-expressions.ts'
export type * from './ast-statements.ts'
export type * from './ast-types.ts'
export type * from './ast-web.ts'
export type { Name, Node, Span }
