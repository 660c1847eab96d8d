import { service } from '@svc/plugin-sdk'

/** What the table `[web]` of a project says about what is built for browsers. */
export const webProject = service<WebProject>('web.project@1')

export interface WebProject {
  /** Whether pages are rendered by a server of TanStack Start; undefined where the project does not say so. */
  tanstackStart(): boolean | undefined
}
