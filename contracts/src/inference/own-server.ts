import { service } from '@svc/plugin-sdk'

/** The model server in this process, as the inference client in the same process sees it. */
export const ownModelServer = service<OwnModelServer>('inference.own-server@1')

export interface OwnModelServer {
  /**
   * Returns headers by which this server recognises a request that has passed the hooks of models, so that taps do not see it
   * twice. Empty for the URL of another server.
   */
  passFor(url: string): Readonly<Record<string, string>>
}
