import { service } from '@svc/plugin-sdk'

/** Addresses of the HTTP listeners of the serving generation. */
export const httpServer = service<HttpServer>('http.server@1')

export interface HttpServer {
  /** `main` first. The port is the actual one, even if the setting is 0. */
  readonly addresses: readonly HttpAddress[]
}

export interface HttpAddress {
  readonly listener: string
  readonly host: string
  readonly port: number
  /** For example `http://127.0.0.1:3847`. */
  readonly url: string
}
