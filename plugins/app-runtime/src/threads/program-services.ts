import type { BrowserAutomation } from '@svc/contracts'
import type { BridgeAnswers } from './bridge.ts'
import { BrowserPages } from './browser-pages.ts'
import type { Provided } from './provided.ts'

/** What other plugins have for programs. */
export interface ProgramServices {
  readonly browser: Provided<BrowserAutomation>
}

/** The same for the threads of one program, with what that has opened. */
export interface OpenServices {
  readonly answers: BridgeAnswers
  close(): Promise<void>
}

export function openServices({ browser }: ProgramServices): OpenServices {
  const pages = new BrowserPages(browser)
  return { answers: pages.answers, close: () => pages.close() }
}
