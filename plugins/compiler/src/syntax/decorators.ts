/** Position in which a decorator is valid, by its name without the `@`. */
export type DecoratorUse =
  /** Begins a declaration: `@index T.name on (…)`. */
  | 'declaration'
  /** Gives a function its role; a function has at most one. */
  | 'role'
  /** Modifies the following declaration or field. */
  | 'mark'
  /** No longer part of the language. */
  | 'retired'

const USES: Readonly<Record<DecoratorUse, string>> = {
  declaration:
    'table collection index search_index vector_index v0 form back_button deep_link push tokens theme component island',
  role: 'query mutation server endpoint mcp.tool tool mcp.resource resource test forall fuzz loading',
  mark:
    'pure deprecated require ensure invariant scheduled native reactive cancellable uses remote inference ai llm prompt ' +
    'subagent search hole auth role public cors rate_limit webhook pii unique embed offline_capable collaborative layer training_step ' +
    'distributed_train rule',
  retired: 'get context hook provider page'
}

const byName: ReadonlyMap<string, DecoratorUse> = new Map(
  Object.entries(USES).flatMap(([use, names]) => names.split(' ').map(name => [name, use as DecoratorUse] as const))
)

const ALIASES: Readonly<Record<string, string>> = {
  tool: 'mcp.tool',
  resource: 'mcp.resource',
  llm: 'ai',
  theme: 'tokens'
}

/** Names of all decorators, for completion. */
export const DECORATORS: readonly string[] = [...byName.keys()]

/** Decorators of functions that need no block: a model implements them, or they have no body yet. */
export const WITHOUT_BODY: ReadonlySet<string> = new Set(['ai', 'prompt', 'subagent', 'search', 'hole'])

export function decoratorUse(name: string): DecoratorUse | undefined {
  return byName.get(name)
}

/** Returns the canonical name of a decorator. */
export function canonicalDecorator(name: string): string {
  return Object.hasOwn(ALIASES, name) ? (ALIASES[name] as string) : name
}
