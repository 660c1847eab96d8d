import type { BrowserAutomation } from '@svc/contracts'
import type { BridgeAnswers } from './bridge.ts'
import { BrowserPages } from './browser-pages.ts'
import { type AnsweringPlugins, pluginAnswers } from './plugin-answers.ts'
import type { Provided } from './provided.ts'

/** Functions of other plugins for programs. */
export interface ProgramServices extends AnsweringPlugins {
  readonly browser: Provided<BrowserAutomation>
}

/** Services of one program, with the resources that it opened. */
export interface OpenServices {
  readonly answers: BridgeAnswers
  close(): Promise<void>
}

export function openServices(services: ProgramServices): OpenServices {
  const pages = new BrowserPages(services.browser)
  return { answers: { ...pluginAnswers(services), ...pages.answers }, close: () => pages.close() }
}
