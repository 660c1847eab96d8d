import type { HttpEndpoint } from '@svc/contracts'

/** Returns a unique identifier for each endpoint: `add_note`, `get_notes_id`. It is also valid in other languages. */
export function operationIds(endpoints: readonly HttpEndpoint[]): string[] {
  const used = new Set(endpoints.flatMap(({ kind, name }) => (kind === 'route' ? [] : [name])))
  return endpoints.map(({ kind, name, route }) => {
    if (kind !== 'route') return name
    const words = `${route.method.toLowerCase()}${route.path}`.match(/[A-Za-z0-9]+/g) as string[]
    return free(words.join('_'), used)
  })
}

/** Returns `name`, with a number appended if the name is in use. */
function free(name: string, used: Set<string>): string {
  let id = name
  for (let number = 2; used.has(id); number++) id = `${name}_${number}`
  used.add(id)
  return id
}
