import { errorTable } from '@svc/plugin-sdk'

export const otlpErrors = errorTable({
  OTL_HEADERS_INVALID: {
    message: 'The headers for the collector, or the attributes of the server, cannot be read.',
    status: 500
  }
})
