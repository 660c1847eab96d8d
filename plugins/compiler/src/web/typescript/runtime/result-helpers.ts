import type { Helper } from './helpers.ts'

/** Helpers for results and server responses. */
export const RESULT_HELPERS = {
  unwrap_ok: {
    source: `/** Returns the value of a success. Throws on a failure. */
export function unwrap_ok<T>(result: Result<T, unknown>): T {
  if (result._tag === 'Ok') return result.value
  throw new Error(String(result.value))
}
`,
    usesResult: true
  },
  unavailable: {
    source: `/** Throws in place of a feature that only the server has. */
export function unavailable(feature: string): never {
  throw new Error(\`\${feature} is not available in a browser\`)
}
`
  },
  settle: {
    source: `/** Converts a server call to a Result, which contains its value or its failure. */
export async function settle<T>(call: Promise<T>): Promise<Result<T>> {
  try {
    return { _tag: 'Ok', value: await call }
  } catch (error) {
    return { _tag: 'Err', value: error instanceof Error ? error.message : String(error) }
  }
}
`,
    usesResult: true
  },
  use_remote: {
    source: `/** Returns the response of the server; \`empty\` until it arrives. Calls the server again if \`dependencies\` or its data change. */
export function use_remote<T>(load: () => Promise<T>, dependencies: readonly unknown[], empty: T): T {
  const [response, set_response] = useState(empty)
  const [reloads, set_reloads] = useState(0)
  useEffect(() => {
    const listener = (): void => set_reloads(previous => previous + 1)
    voxClient.onChange.add(listener)
    return () => {
      voxClient.onChange.delete(listener)
    }
  }, [])
  useEffect(() => {
    let is_current = true
    load().then(
      value => {
        if (is_current) set_response(value)
      },
      error => console.error(error)
    )
    return () => {
      is_current = false
    }
  }, [...dependencies, reloads])
  return response
}
`,
    imports: { react: ['useEffect', 'useState'], './vox-client': ['voxClient'] }
  }
} satisfies Readonly<Record<string, Helper>>
