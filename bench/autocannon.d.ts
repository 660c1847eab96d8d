declare module 'autocannon' {
  interface Options {
    readonly url: string
    readonly method?: string
    readonly body?: string
    readonly headers?: Readonly<Record<string, string>>
    /** Requests in all. */
    readonly amount: number
    readonly connections: number
  }

  interface Result {
    readonly errors: number
    readonly non2xx: number
    readonly requests: { readonly total: number }
    readonly statusCodeStats: Readonly<Record<string, unknown>>
  }

  export default function autocannon(options: Options): Promise<Result>
}
