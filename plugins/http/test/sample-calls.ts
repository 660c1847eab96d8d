interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly required: boolean
  readonly schema?: object
  readonly content?: { readonly 'application/json': { readonly schema: object } }
}

interface Described {
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: object } } }
  readonly 'x-raw'?: boolean
  readonly 'x-effect'?: string
  readonly 'x-scopes'?: readonly string[]
}

interface Page {
  sampleOf(schema: object, api: object, name?: string): unknown
}

export interface SampleCall {
  /** Method and path. */
  readonly name: string
  readonly described: Described
  send(signal?: AbortSignal): Promise<Response>
}

/** Returns a call of each operation that a server describes, with the input that its page `/docs` suggests. */
export async function sampleCalls(url: string): Promise<SampleCall[]> {
  const { sampleOf } = (await import(new URL('../page/sample.mjs', import.meta.url).href)) as Page
  const api = (await (await fetch(`${url}/openapi.json`)).json()) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  }
  return Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, described]) => {
      if (described['x-raw'] === true) return []
      const query = new URLSearchParams()
      let target = path
      for (const { name, in: place, required, schema, content } of described.parameters ?? []) {
        const value = sampleOf(schema ?? content?.['application/json'].schema ?? {}, api, name)
        const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
        if (place === 'path') target = target.replace(`{${name}}`, encodeURIComponent(text))
        else if (required) query.append(name, text)
      }
      const body = described.requestBody?.content['application/json'].schema
      const sent =
        body === undefined
          ? {}
          : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(sampleOf(body, api)) }
      const address = `${url}${target}${query.size === 0 ? '' : `?${query}`}`
      const send = (signal?: AbortSignal): Promise<Response> =>
        fetch(address, { method: method.toUpperCase(), ...sent, ...(signal === undefined ? {} : { signal }) })
      return [{ name: `${method.toUpperCase()} ${path}`, described, send }]
    })
  )
}
