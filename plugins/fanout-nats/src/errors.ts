import { errorTable } from '@svc/plugin-sdk'

export const natsErrors = errorTable({
  FNA_SETTINGS_INVALID: { message: 'The settings for NATS servers contradict each other.', status: 500 }
})
