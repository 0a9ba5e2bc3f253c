// A client of `jp-confine mcp`, on the reference SDK for TypeScript. Takes a line of JSON on standard input: where the
// SDK is (`sdk`), the server's command line (`server`), what the person answers (`answer`; without it the client offers
// no elicitation), and the steps. Prints one line of JSON for each step, and for each question.
import { existsSync, readFileSync, watch } from "node:fs";

const { sdk, server, answer, steps } = JSON.parse(readFileSync(0, "utf8"));
const from = (file) => import(`${sdk}/dist/esm/${file}`);
const { Client } = await from("client/index.js");
const { StdioClientTransport } = await from("client/stdio.js");
const { ElicitRequestSchema } = await from("types.js");

const print = (name, value) => console.log(JSON.stringify({ [name]: value }));
const capabilities = answer === undefined ? {} : { elicitation: {} };
const client = new Client({ name: "test", version: "1" }, { capabilities });
if (answer !== undefined) {
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
        print("asked", params.message);
        const choices = params.requestedSchema.properties.answer.enum;
        const chosen = choices.find((choice) => choice === answer);
        return chosen ? { action: "accept", content: { answer: chosen } } : { action: answer };
    });
}
const [command, ...args] = server;
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" }));
for (const [name, params] of steps) {
    if (name === "tools") {
        print(name, (await client.listTools()).tools.map((tool) => tool.name));
    } else if (name === "resource") {
        print(name, (await client.readResource({ uri: params })).contents[0].text);
    } else if (name === "resources") {
        print(name, (await client.listResources()).resources.map((resource) => resource.uri));
    } else if (name === "cancel") {
        // Calls that are cancelled, the last one first, once a program of theirs has created a file here.
        const given = params.calls.map(() => new AbortController());
        const cancel = () => given.reverse().forEach((one) => one.abort());
        const watcher = watch(".", () => existsSync(params.once) && cancel());
        const calls = params.calls.map((call, place) =>
            client.callTool(call, undefined, { signal: given[place].signal }));
        const ends = (await Promise.allSettled(calls)).map((end) => end.status);
        print(name, ends.join(" "));
        watcher.close();
    } else {
        try {
            const { isError, content } = await client.callTool({ name, arguments: params });
            print(isError ? "error" : "ok", content.map((block) => block.text).join(""));
        } catch (error) {
            print("protocol", error.message);
        }
    }
}
await client.close();
