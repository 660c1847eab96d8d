declare module 'autocannon' {
  interface Options {
    readonly url: string
    readonly method?: string
    readonly body?: string
    readonly headers?: Readonly<Record<string, string>>
    /** Total number of requests; default: as many as fit into `duration`. */
    readonly amount?: number
    /** Duration in seconds. */
    readonly duration?: number
    readonly connections: number
    /** Milliseconds between samples; default 1,000. A run ends with a sample. */
    readonly sampleInt?: number
    /** Requests that are sent in rotation. */
    readonly requests?: readonly object[]
  }

  interface Result {
    readonly errors: number
    readonly non2xx: number
    /** `average`: requests per sample. */
    readonly requests: { readonly total: number; readonly average: number }
    /** Duration in seconds. */
    readonly duration: number
    readonly statusCodeStats: Readonly<Record<string, unknown>>
  }

  export default function autocannon(options: Options): Promise<Result>
}
