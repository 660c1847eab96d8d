/** Names that the path of a route gives to its body: `id` of `/tasks/:id` and of `/tasks/{id}`. */
export function pathParameters(path: string): string[] {
  return [...path.matchAll(/:([a-z_]\w*)|\{([a-z_]\w*)\}/gi)].map(([, colon, braces]) => colon ?? braces ?? '')
}
