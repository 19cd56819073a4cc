//! Reads the requests for instances and operations.

use axum::http::Method;

use super::action::{Action, Page, TOKEN};
use super::product::Memorystore;
use crate::emulator::demand::{self, Demand};
use crate::emulator::refusal::Refusal;
use crate::emulator::request::{Query, Request};

/// The longest page, and the default.
const PAGE: usize = 1_000;

/// Reads a request for instances or operations; `None` if the path names neither.
pub(in crate::emulator) fn parse(
    request: &Request<'_>,
    product: Memorystore,
) -> Option<Result<Demand, Refusal>> {
    let path = request.path.strip_prefix("/v1/")?;
    let segments: Vec<_> = path.split('/').collect();
    let [
        "projects",
        project,
        "locations",
        location,
        collection,
        ref id @ ..,
    ] = segments[..]
    else {
        return None;
    };
    let id = match id {
        [] => None,
        [id] => Some(*id),
        _ => return None,
    };
    if [project, location].contains(&"") || id == Some("") {
        return None;
    }
    let action = match (collection, id) {
        ("instances", None) => match *request.method {
            Method::GET => page(request.query).map(Action::List),
            Method::POST => return Some(create(request, product, path)),
            _ => Err(request.unknown()),
        },
        ("operations", None) => match *request.method {
            Method::GET => page(request.query).map(Action::ListOperations),
            _ => Err(request.unknown()),
        },
        ("operations", Some(id)) if id.ends_with(":cancel") => match *request.method {
            Method::POST => Ok(Action::CancelOperation),
            _ => Err(request.unknown()),
        },
        // This may be a verb of IAM.
        (_, Some(id)) if id.contains(':') => return None,
        ("instances", Some(_)) => match *request.method {
            Method::GET => Ok(Action::Get),
            Method::DELETE => {
                request_id(request.query, product).map(|request_id| Action::Delete { request_id })
            }
            _ => Err(request.unknown()),
        },
        ("operations", Some(_)) => match *request.method {
            Method::GET => Ok(Action::GetOperation),
            Method::DELETE => Ok(Action::DeleteOperation),
            _ => Err(request.unknown()),
        },
        _ => return None,
    };
    let resource = path.strip_suffix(":cancel").unwrap_or(path);
    // A list has the path of its location.
    let resource = match id {
        None => &resource[..resource.len() - collection.len() - 1],
        Some(_) => resource,
    };
    Some(action.map(|action| demand(request, resource, action)))
}

fn demand(request: &Request<'_>, resource: &str, action: Action) -> Demand {
    Demand {
        resource: resource.to_owned(),
        action: demand::Action::Instances(action),
        numbers: request
            .query
            .get("$alt")
            .is_some_and(|alt| alt.contains("enum-encoding=int")),
    }
}

fn create(
    request: &Request<'_>,
    product: Memorystore,
    collection: &str,
) -> Result<Demand, Refusal> {
    let id = request
        .query
        .get("instanceId")
        .ok_or_else(|| Refusal::invalid("instanceId is required."))?;
    product.check_id(id).map_err(Refusal::invalid)?;
    let action = Action::Create {
        instance: request.object()?,
        request_id: request_id(request.query, product)?,
    };
    Ok(demand(request, &format!("{collection}/{id}"), action))
}

/// A UUID other than the one of zeros.
fn request_id(query: &Query, product: Memorystore) -> Result<Option<String>, Refusal> {
    let Some(id) = query.get("requestId") else {
        return Ok(None);
    };
    if !product.knows_request_ids() {
        return Err(Refusal::invalid(
            "requestId is not known to Memorystore for Redis.",
        ));
    }
    let form = id.len() == 36
        && id.char_indices().all(|(at, digit)| match at {
            8 | 13 | 18 | 23 => digit == '-',
            _ => digit.is_ascii_hexdigit(),
        });
    if form && id.chars().any(|digit| !matches!(digit, '0' | '-')) {
        Ok(Some(id.to_ascii_lowercase()))
    } else {
        Err(Refusal::invalid(
            "requestId must be a UUID, and not the one of zeros.",
        ))
    }
}

fn page(query: &Query) -> Result<Page, Refusal> {
    for name in ["filter", "orderBy"] {
        if query.get(name).is_some() {
            return Err(Refusal::invalid(format!(
                "{name} is not emulated: leave it out."
            )));
        }
    }
    let size = match query.get("pageSize") {
        None => 0,
        Some(size) => size
            .parse::<u32>()
            .map_err(|_| Refusal::invalid("pageSize must be a number, and not negative."))?,
    };
    let size = match usize::try_from(size) {
        Ok(0) | Err(_) => PAGE,
        Ok(size) => size.min(PAGE),
    };
    let after = match query.get("pageToken") {
        None => None,
        Some(token) => match token.strip_prefix(TOKEN) {
            Some(name) => Some(name.to_owned()),
            None => {
                return Err(Refusal::invalid(
                    "pageToken was not made by this service: use a nextPageToken.",
                ));
            }
        },
    };
    Ok(Page { size, after })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Map;

    const UUID: &str = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
    const PARENT: &str = "projects/p/locations/l";

    fn parsed(
        method: Method,
        path: &str,
        query: &[(&str, &str)],
        body: &str,
    ) -> Option<Result<Demand, u16>> {
        let query = query
            .iter()
            .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
        let request = Request {
            method: &method,
            path,
            query: &query.collect(),
            body: body.as_bytes(),
        };
        let found = parse(&request, Memorystore::Valkey)?;
        Some(found.map_err(|refusal| refusal.code))
    }

    fn demanded(resource: &str, action: Action) -> Option<Result<Demand, u16>> {
        Some(Ok(Demand {
            resource: resource.to_owned(),
            action: demand::Action::Instances(action),
            numbers: false,
        }))
    }

    #[test]
    fn every_method_has_its_path() {
        let all = || Page {
            size: PAGE,
            after: None,
        };
        for (method, path, resource, action) in [
            (Method::GET, "instances", "", Action::List(all())),
            (Method::GET, "instances/i-1", "/instances/i-1", Action::Get),
            (
                Method::DELETE,
                "instances/i-1",
                "/instances/i-1",
                Action::Delete { request_id: None },
            ),
            (Method::GET, "operations", "", Action::ListOperations(all())),
            (
                Method::GET,
                "operations/o",
                "/operations/o",
                Action::GetOperation,
            ),
            (
                Method::DELETE,
                "operations/o",
                "/operations/o",
                Action::DeleteOperation,
            ),
            (
                Method::POST,
                "operations/o:cancel",
                "/operations/o",
                Action::CancelOperation,
            ),
        ] {
            let found = parsed(method, &format!("/v1/{PARENT}/{path}"), &[], "");
            assert_eq!(found, demanded(&format!("{PARENT}{resource}"), action));
        }
        let query = [("instanceId", "cache"), ("requestId", UUID)];
        let created = parsed(
            Method::POST,
            &format!("/v1/{PARENT}/instances"),
            &query,
            "{}",
        );
        let action = Action::Create {
            instance: Map::new(),
            request_id: Some(UUID.to_owned()),
        };
        assert_eq!(
            created,
            demanded(&format!("{PARENT}/instances/cache"), action)
        );
    }

    #[test]
    fn numbers_for_enumerations_are_asked_for() {
        let path = format!("/v1/{PARENT}/instances/cache");
        for (alt, numbers) in [("json;enum-encoding=int", true), ("json", false)] {
            let found = parsed(Method::GET, &path, &[("$alt", alt)], "");
            assert_eq!(found.unwrap().unwrap().numbers, numbers);
        }
    }

    #[test]
    fn other_paths_are_left_to_other_services() {
        for path in [
            "/v1/projects/p/locations/l/instances/i:getIamPolicy",
            "/v1/projects/p/locations/l/operations/o:getIamPolicy",
            "/v1/projects/p/locations/l/backups",
            "/v1/projects/p/locations/l/instances/i/more",
            "/v1/projects/p/locations/l/instances/",
            "/v1/projects//locations/l/instances",
            "/v2/projects/p/locations/l/instances",
            "/v1/projects/p",
            "/",
            "",
        ] {
            assert_eq!(parsed(Method::GET, path, &[], ""), None, "{path}");
        }
    }

    #[test]
    fn wrong_methods_are_not_found() {
        for (method, path) in [
            (Method::PUT, "instances"),
            (Method::PATCH, "instances/cache"),
            (Method::POST, "operations"),
            (Method::POST, "operations/o"),
            (Method::GET, "operations/o:cancel"),
        ] {
            let found = parsed(method, &format!("/v1/{PARENT}/{path}"), &[], "{}");
            assert_eq!(found, Some(Err(404)), "{path}");
        }
    }

    #[test]
    fn bad_parameters_are_invalid() {
        let instances = format!("/v1/{PARENT}/instances");
        let id = ("instanceId", "cache");
        for (query, body) in [
            (&[][..], "{}"),
            (&[("instanceId", "")], "{}"),
            (&[("instanceId", "No")], "{}"),
            (&[id], ""),
            (&[id], "[]"),
            (&[id, ("requestId", "1")], "{}"),
            (&[id, ("requestId", &UUID.replace('-', "0"))], "{}"),
            (&[id, ("requestId", &UUID.replace('6', "g"))], "{}"),
            (
                &[id, ("requestId", "00000000-0000-0000-0000-000000000000")],
                "{}",
            ),
        ] {
            let found = parsed(Method::POST, &instances, query, body);
            assert_eq!(found, Some(Err(400)), "{query:?}");
        }
        for parameter in [
            ("pageSize", "-1"),
            ("pageSize", "many"),
            ("pageToken", "5"),
            ("filter", "a=b"),
            ("orderBy", "name"),
        ] {
            let found = parsed(Method::GET, &instances, &[parameter], "");
            assert_eq!(found, Some(Err(400)), "{parameter:?}");
        }
    }

    #[test]
    fn a_request_id_is_refused_where_it_is_not_known() {
        let query = [("instanceId", "cache"), ("requestId", UUID)];
        let query = query.map(|(a, b)| (a.to_owned(), b.to_owned()));
        let request = Request {
            method: &Method::POST,
            path: "/v1/projects/p/locations/l/instances",
            query: &query.into_iter().collect(),
            body: b"{}",
        };
        let refusal = parse(&request, Memorystore::Redis).unwrap().unwrap_err();
        assert_eq!(refusal.code, 400);
    }
}
