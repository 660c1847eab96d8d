import { errorTable } from '@svc/plugin-sdk'

/** Errors of forbidden actions of plugin code. */
export const guardErrors = errorTable({
  LDR_CLOSED: { message: 'A disposed plugin tried to open a resource.' },
  LDR_REFUSED: { message: 'A plugin called a function that only the host may call.' }
})
