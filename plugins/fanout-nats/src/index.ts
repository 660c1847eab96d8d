export { connectOptions } from './connect-options.ts'
export { NatsFanout, type NatsFanoutOptions } from './nats-fanout.ts'
