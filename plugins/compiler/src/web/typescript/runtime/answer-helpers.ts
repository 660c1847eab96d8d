import type { Helper } from './helpers.ts'

/** Results and server answers. */
export const ANSWER_HELPERS = {
  unwrap_ok: {
    source: `/** The value of a success. Throws on a failure. */
export function unwrap_ok<T>(result: Result<T, unknown>): T {
  if (result._tag === 'Ok') return result.value
  throw new Error(String(result.value))
}
`,
    usesResult: true
  },
  unavailable: {
    source: `/** Replaces a feature that only the server has. */
export function unavailable(what: string): never {
  throw new Error(\`\${what} is not available in a browser\`)
}
`
  },
  settle: {
    source: `/** An answer of the server as a value, whether it succeeded or not. */
export async function settle<T>(answer: Promise<T>): Promise<Result<T>> {
  try {
    return { _tag: 'Ok', value: await answer }
  } catch (error) {
    return { _tag: 'Err', value: error instanceof Error ? error.message : String(error) }
  }
}
`,
    usesResult: true
  },
  use_remote: {
    source: `/** The answer of the server; \`empty\` until it arrives. Calls the server again when \`dependencies\` or its data change. */
export function use_remote<T>(load: () => Promise<T>, dependencies: readonly unknown[], empty: T): T {
  const [answer, set_answer] = useState(empty)
  const [turn, set_turn] = useState(0)
  useEffect(() => {
    const listener = (): void => set_turn(previous => previous + 1)
    voxClient.onChange.add(listener)
    return () => {
      voxClient.onChange.delete(listener)
    }
  }, [])
  useEffect(() => {
    let is_wanted = true
    load().then(
      value => {
        if (is_wanted) set_answer(value)
      },
      error => console.error(error)
    )
    return () => {
      is_wanted = false
    }
  }, [...dependencies, turn])
  return answer
}
`,
    imports: { react: ['useEffect', 'useState'], './vox-client': ['voxClient'] }
  }
} satisfies Readonly<Record<string, Helper>>
