declare module 'autocannon' {
  interface Options {
    readonly url: string
    readonly method?: string
    readonly body?: string
    readonly headers?: Readonly<Record<string, string>>
    /** Requests in all; without it `duration` counts. */
    readonly amount?: number
    /** Seconds. */
    readonly duration?: number
    readonly connections: number
    /** Requests that take turns. */
    readonly requests?: readonly object[]
  }

  interface Result {
    readonly errors: number
    readonly non2xx: number
    /** `average` is a second. */
    readonly requests: { readonly total: number; readonly average: number }
    /** Seconds that it took. */
    readonly duration: number
    readonly statusCodeStats: Readonly<Record<string, unknown>>
  }

  export default function autocannon(options: Options): Promise<Result>
}
