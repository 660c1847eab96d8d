import type { Helper } from './helpers.ts'

/** Helpers for results and server responses. */
export const RESULT_HELPERS = {
  unwrap_ok: {
    source: `/** Returns the value of a success. Throws on a failure. */
export function unwrap_ok<T>(result: Result<T, unknown>): T {
  if (result._tag === 'Ok') return result.value
  fail('RUN_PANIC', String(result.value))
}
`,
    needs: ['fail'],
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
  settle_refusal: {
    source: `/** Converts a server call to a Result with the Error that the function returned. Throws other failures. */
export async function settle_refusal<T, E>(call: Promise<T | void>): Promise<Result<T, E>> {
  try {
    return { _tag: 'Ok', value: (await call) as T }
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'RUN_REFUSED' || error.details === undefined) throw error
    return { _tag: 'Err', value: error.details as E }
  }
}
`,
    usesResult: true,
    imports: { './vox-client': ['ApiError'] }
  },
  use_remote: {
    source: `/** Returns the response of the server; \`empty\` until it arrives. Calls the server again if \`dependencies\` or its data change. */
export function use_remote<T>(load: () => Promise<T>, dependencies: readonly unknown[], empty: T): T {
  const [response, set_response] = useState(empty)
  const [reloads, set_reloads] = useState(0)
  useEffect(() => {
    const listener = (is_other_caller = false): void => {
      if (is_other_caller) set_response(empty)
      set_reloads(previous => previous + 1)
    }
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
  },
  use_live: {
    source: `/** Like \`use_remote\`, but follows a live query after its first value. */
export function use_live<T>(
  load: () => Promise<T>,
  follow: (on_value: (value: T) => void, on_error: (error: { readonly status: number }) => void) => () => void,
  dependencies: readonly unknown[],
  empty: T
): T {
  const [response, set_response] = useState(empty)
  const reload = useRef(() => {})
  useEffect(() => {
    let is_current = true
    let is_followed = false
    let end = (): void => {}
    const shown = (value: T): void => {
      if (is_current && !is_followed) set_response(value)
    }
    reload.current = () => {
      if (!is_followed) load().then(shown, error => console.error(error))
    }
    const begin = (): void => {
      if (!is_current) return
      end = follow(
        value => {
          is_followed = true
          set_response(value)
        },
        ({ status }) => {
          if (is_followed && (status === 401 || status === 403)) set_response(empty)
          is_followed = false
        }
      )
    }
    load().then(
      value => {
        shown(value)
        begin()
      },
      error => {
        console.error(error)
        begin()
      }
    )
    return () => {
      is_current = false
      end()
    }
  }, dependencies)
  useEffect(() => {
    const listener = (is_other_caller = false): void => {
      if (is_other_caller) set_response(empty)
      reload.current()
    }
    voxClient.onChange.add(listener)
    return () => {
      voxClient.onChange.delete(listener)
    }
  }, [])
  return response
}
`,
    imports: { react: ['useEffect', 'useRef', 'useState'], './vox-client': ['voxClient'] }
  },
  use_while_shown: {
    source: `/** Returns a function that passes a promise on, but leaves it pending once the component has left the page. */
export function use_while_shown(): <T>(promise: Promise<T>) => Promise<T> {
  const is_shown = useRef(true)
  useEffect(() => {
    is_shown.current = true
    return () => {
      is_shown.current = false
    }
  }, [])
  return promise =>
    new Promise((resolve, reject) => {
      promise.then(
        value => {
          if (is_shown.current) resolve(value)
        },
        error => {
          if (is_shown.current) reject(error)
        }
      )
    })
}
`,
    imports: { react: ['useEffect', 'useRef'] }
  }
} satisfies Readonly<Record<string, Helper>>
