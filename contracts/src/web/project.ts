import { service } from '@svc/plugin-sdk'

/** Browser build settings from the table `[web]` of a project. */
export const webProject = service<WebProject>('web.project@1')

export interface WebProject {
  /** Whether pages are rendered by a server of TanStack Start; undefined if the project does not set it. */
  tanstackStart(): boolean | undefined
}
