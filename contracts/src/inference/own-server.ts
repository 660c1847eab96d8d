import { service } from '@svc/plugin-sdk'

/** The model server in this process, for the inference client in the same process. */
export const ownModelServer = service<OwnModelServer>('inference.own-server@1')

export interface OwnModelServer {
  /**
   * Returns headers that mark a request as having passed the model hooks, so that taps do not see it twice. Empty for
   * the URL of another server.
   */
  passFor(url: string): Readonly<Record<string, string>>
}
