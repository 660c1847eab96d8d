import type { HirParam, HirRoute } from '@svc/contracts'

const IN_PATH = /:([a-z_]\w*)|\{([a-z_]\w*)\}/gi

/** Names that a path gives to its parts: `id` of `/tasks/:id` and of `/tasks/{id}`. */
export function pathParameters(path: string): string[] {
  return [...path.matchAll(IN_PATH)].map(([, colon, braces]) => colon ?? braces ?? '')
}

/** What the body of a route can name: what it declares, parts of its path that it does not declare, and `request`. */
export function routeParameters({ path, params = [], span }: HirRoute): HirParam[] {
  const undeclared = pathParameters(path).filter(name => !params.some(each => each.name === name))
  const implicit = [...undeclared, 'request'].filter(name => !params.some(each => each.name === name))
  return [...params, ...implicit.map(name => ({ id: -1, name, type_ann: { Named: 'str' }, default: null, span }))]
}
